package carillon.model.task;

import java.util.Locale;
import java.util.Optional;

/** Why an attempt did not complete its task, coarse enough to be shown to a tenant and counted. */
public enum FailureKind {
  /** The target answered with a status that is not a success. */
  STATUS(Cause.TARGET_FAILED),
  /** There was a connection, and the whole attempt took longer than its deadline. */
  TIMEOUT(Cause.TARGET_FAILED),
  /** The deadline passed before there was a connection. */
  CONNECT_TIMEOUT(Cause.NOT_REACHED),
  /** The target's name could not be resolved. */
  DNS(Cause.NOT_REACHED),
  /** No connection could be made. */
  CONNECTION(Cause.NOT_REACHED),
  /** The connection broke before the target had answered. */
  BROKEN(Cause.TARGET_FAILED),
  TLS(Cause.NOT_REACHED),
  /** What came back is not HTTP, or larger than allowed. */
  PROTOCOL(Cause.TARGET_FAILED),
  /** The target, or what its name resolves to, is not an address that deliveries may reach. */
  ADDRESS_NOT_ALLOWED(Cause.NOT_REACHED),
  /** A secret of the target is not there: it was restored from an archive, which has none. */
  CREDENTIAL_MISSING(Cause.NOT_REACHED),
  /** The broker has no such topic, exchange or queue. */
  UNROUTABLE(Cause.TARGET_FAILED),
  /** The broker would not take the message. */
  BROKER_REFUSED(Cause.TARGET_FAILED),
  /** No answer of the broker; costs no attempt. */
  BROKER_LOST(Cause.NOT_REACHED),
  /** A worker reported the failure. */
  WORKER(Cause.TARGET_FAILED),
  /** The worker that ran it went silent, or its node lost the database for too long. */
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

  /** Who or what is to be looked at first. */
  public enum Cause {
    /** Nothing was sent: the target's name, address, port or certificate, or the way to it. */
    NOT_REACHED,
    /** The target, or the worker, had it and did not do it. */
    TARGET_FAILED,
    /** Whoever had it was not heard of in time; how far it got is not known. */
    LEASE_LOST,
    /** We stopped; costs no attempt. */
    SHUTDOWN,
    /** The node died under it. */
    CRASHED
  }

  public Cause cause() {
    return cause;
  }

  /** As everybody outside is told. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** However it is capitalised; empty if it is the label of none. */
  public static Optional<FailureKind> labelled(String label) {
    for (FailureKind kind : values()) {
      if (kind.name().equalsIgnoreCase(label)) {
        return Optional.of(kind);
      }
    }
    return Optional.empty();
  }

  /** Empty if it is the name of none. */
  public static Optional<FailureKind> named(String name) {
    for (FailureKind kind : values()) {
      if (kind.name().equals(name)) {
        return Optional.of(kind);
      }
    }
    return Optional.empty();
  }
}
