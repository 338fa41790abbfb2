package carillon.api.http;

import java.util.Optional;

/** How the node is, for whoever decides about it from outside. */
@FunctionalInterface
public interface Health {

  /** Why this node should get no requests now; empty if it should. */
  Optional<String> notReady();

  /** Why this node should be started anew; empty if it need not. */
  default Optional<String> notLive() {
    return Optional.empty();
  }
}
