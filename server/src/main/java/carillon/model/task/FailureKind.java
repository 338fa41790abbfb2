package carillon.model.task;

import java.util.Locale;
import java.util.Optional;

/** Why an attempt did not complete its task, coarse enough to be shown to a tenant and counted. */
public enum FailureKind {
  /** The target answered with a status that is not a success. */
  STATUS(Cause.TARGET_FAILED),
  /** The attempt exceeded its deadline after the connection was established. */
  TIMEOUT(Cause.TARGET_FAILED),
  /** The attempt exceeded its deadline before the connection was established. */
  CONNECT_TIMEOUT(Cause.NOT_REACHED),
  /** The target's name could not be resolved. */
  DNS(Cause.NOT_REACHED),
  /** The connection could not be established. */
  CONNECTION(Cause.NOT_REACHED),
  /** The connection was lost before the target answered. */
  BROKEN(Cause.TARGET_FAILED),
  TLS(Cause.NOT_REACHED),
  /** The response is not HTTP, or larger than allowed. */
  PROTOCOL(Cause.TARGET_FAILED),
  /** The target's address is not one that deliveries may reach. */
  ADDRESS_NOT_ALLOWED(Cause.NOT_REACHED),
  /** A secret of the target is missing: archives have none, and the task was restored from one. */
  CREDENTIAL_MISSING(Cause.NOT_REACHED),
  /** The broker has no such topic, exchange or queue. */
  UNROUTABLE(Cause.TARGET_FAILED),
  /** The broker rejected the message. */
  BROKER_REFUSED(Cause.TARGET_FAILED),
  /** The broker did not answer. The attempt does not count. */
  BROKER_LOST(Cause.NOT_REACHED),
  /** A worker reported the failure. */
  WORKER(Cause.TARGET_FAILED),
  /** The worker did not renew its lease, or its node lost the database for too long. */
  LEASE_LOST(Cause.LEASE_LOST),
  /** The node that ran it was stopped. */
  SHUTDOWN(Cause.SHUTDOWN),
  /** The node that ran it died. */
  CRASHED(Cause.CRASHED),
  /** Node after node died while they ran it. */
  POISON(Cause.CRASHED);

  private final Cause cause;

  FailureKind(Cause cause) {
    this.cause = cause;
  }

  /** Where to look first. */
  public enum Cause {
    /**
     * Nothing was sent: check the target's host name, address, port and certificate, and the
     * network.
     */
    NOT_REACHED,
    /** The target or the worker received the task and failed. */
    TARGET_FAILED,
    /** The holder did not renew the lease in time; how far it got is unknown. */
    LEASE_LOST,
    /** The node was stopped. The attempt does not count. */
    SHUTDOWN,
    /** The node died during the attempt. */
    CRASHED
  }

  public Cause cause() {
    return cause;
  }

  /** The name used in the API. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Ignores case; empty if no kind has this label. */
  public static Optional<FailureKind> labelled(String label) {
    for (FailureKind kind : values()) {
      if (kind.name().equalsIgnoreCase(label)) {
        return Optional.of(kind);
      }
    }
    return Optional.empty();
  }

  /** Empty if no kind has this name. */
  public static Optional<FailureKind> named(String name) {
    for (FailureKind kind : values()) {
      if (kind.name().equals(name)) {
        return Optional.of(kind);
      }
    }
    return Optional.empty();
  }
}
