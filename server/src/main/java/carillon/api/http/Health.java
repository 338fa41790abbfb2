package carillon.api.http;

import java.util.Optional;

/** The health of this node, for load balancers and orchestrators. */
@FunctionalInterface
public interface Health {

  /** Why this node should receive no requests; empty while it is ready. */
  Optional<String> notReady();

  /** Why this node should be restarted; empty while it is live. */
  default Optional<String> notLive() {
    return Optional.empty();
  }
}
