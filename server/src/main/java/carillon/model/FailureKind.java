package carillon.model;

/** Why an attempt did not complete its task, coarse enough to be shown to a tenant and counted. */
public enum FailureKind {
  /** The target answered with a status that is not a success. */
  STATUS,
  /** The whole attempt took longer than its deadline. */
  TIMEOUT,
  /** The target's name could not be resolved. */
  DNS,
  /** No connection, or one that broke. */
  CONNECTION,
  TLS,
  /** What came back is not HTTP, or larger than allowed. */
  PROTOCOL,
  /** The target, or what its name resolves to, is not an address that deliveries may reach. */
  ADDRESS_NOT_ALLOWED,
  /** A worker reported the failure. */
  WORKER,
  /** The node or worker that ran it went silent. */
  LEASE_LOST,
  /** The node that ran it was stopped. */
  SHUTDOWN
}
