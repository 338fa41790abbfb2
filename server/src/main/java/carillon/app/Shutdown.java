package carillon.app;

import java.util.ArrayDeque;
import java.util.Deque;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What was started, to be stopped in the opposite order; one part that fails to stop does not keep
 * the others.
 */
final class Shutdown {

  private static final Logger log = LoggerFactory.getLogger(Shutdown.class);

  private final Deque<AutoCloseable> parts = new ArrayDeque<>();

  void add(AutoCloseable part) {
    parts.push(part);
  }

  void run() {
    while (!parts.isEmpty()) {
      try {
        parts.pop().close();
      } catch (Exception | Error e) {
        log.warn("a part did not stop in order error={}", e.toString());
        log.debug("a part did not stop in order", e);
      }
    }
  }
}
