package carillon.chaos.rules;

import carillon.chaos.history.Event;
import org.jspecify.annotations.Nullable;

/** One request that reached the receiver, and its response. */
record Delivery(Event start, @Nullable Event end) {

  String task() {
    return start.need("task");
  }

  long fence() {
    return start.number("fence");
  }

  /** Whether the receiver accepted the delivery. */
  boolean isOk() {
    String status = end == null ? null : end.text("status");
    return status != null && status.startsWith("2");
  }

  long began() {
    return start.wall();
  }

  /** When the response was sent, or just before. */
  long answered() {
    return end == null ? Long.MAX_VALUE : end.number("answered");
  }

  long ended() {
    return end == null ? Long.MAX_VALUE : end.wall();
  }
}
