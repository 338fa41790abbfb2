package carillon.model;

import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Where the attempts of a task go. */
public sealed interface Target {

  /**
   * An HTTP request.
   *
   * @param body sent instead of the payload, if there is one
   * @param timeout for the whole attempt; null means the type's
   */
  record Http(
      String url,
      String method,
      Map<String, String> headers,
      @Nullable String body,
      @Nullable Duration timeout)
      implements Target {

    public Http {
      headers = Map.copyOf(headers);
    }
  }

  /** Waits for a worker to come and claim it. */
  record Pull() implements Target {}

  /** Completes at once: for trying out and for measuring. */
  record Discard() implements Target {}
}
