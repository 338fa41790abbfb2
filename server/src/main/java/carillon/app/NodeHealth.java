package carillon.app;

import carillon.api.http.Health;
import carillon.cluster.Heartbeat;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The health of a node.
 *
 * @param stuckLoop names a loop that has stopped making progress
 */
record NodeHealth(Heartbeat heartbeat, Supplier<Optional<String>> stuckLoop) implements Health {

  @Override
  public Optional<String> notReady() {
    return heartbeat.lease().isTrusted(System.nanoTime())
        ? Optional.empty()
        : Optional.of("the database has not responded for a while");
  }

  @Override
  public Optional<String> notLive() {
    return stuckLoop.get();
  }
}
