package carillon.app;

import java.net.URI;

/** A started node. */
public interface Running extends AutoCloseable {

  /** Where its API and dashboard are. */
  URI url();

  /** Drains and stops everything; returns when it is down. */
  @Override
  void close();
}
