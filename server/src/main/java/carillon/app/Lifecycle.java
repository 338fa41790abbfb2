package carillon.app;

import java.util.ArrayDeque;
import java.util.Deque;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The started parts of a node. They are stopped in the opposite order. */
final class Lifecycle {

  private static final Logger log = LoggerFactory.getLogger(Lifecycle.class);

  private final Deque<Part> parts = new ArrayDeque<>();

  private record Part(String name, AutoCloseable stop) {}

  /** Closes the part on shutdown, before the parts that were added earlier. */
  <T extends AutoCloseable> T add(String name, T part) {
    parts.push(new Part(name, part));
    return part;
  }

  /** Runs the action on shutdown, before the parts that were added earlier are stopped. */
  void onStop(String name, AutoCloseable action) {
    parts.push(new Part(name, action));
  }

  /** Stops everything. A part that fails to stop does not keep the others running. */
  void stop() {
    while (!parts.isEmpty()) {
      Part part = parts.pop();
      try {
        part.stop().close();
      } catch (Exception | Error e) {
        log.warn("part failed to stop part={} error={}", part.name(), e.toString());
        log.debug("part failed to stop part={}", part.name(), e);
      }
    }
  }
}
