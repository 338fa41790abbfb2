package carillon.app;

import java.net.URI;
import java.util.OptionalInt;

/** A started node. */
public interface Running extends AutoCloseable {

  /** Where its API and dashboard are. */
  URI url();

  /** The port of the metrics and health endpoints, if it differs from the API's. */
  default OptionalInt metricsPort() {
    return OptionalInt.empty();
  }

  /** Drains and stops everything; returns when it is down. */
  @Override
  void close();
}
