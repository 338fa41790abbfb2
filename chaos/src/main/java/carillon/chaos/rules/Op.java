package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.Kind;
import org.jspecify.annotations.Nullable;

/**
 * One operation of a client or worker: its start, and its end if there was one.
 *
 * @param end null if the client or worker stopped before the operation ended
 */
record Op(Event invoke, @Nullable Event end) {

  boolean isOk() {
    return end != null && end.kind() == Kind.OK;
  }

  boolean mayHaveHappened() {
    return end == null || end.kind() != Kind.FAIL;
  }

  /** A field of the end, or else of the start. */
  @Nullable String text(String name) {
    return end != null && end.fields().has(name) ? end.text(name) : invoke.text(name);
  }

  String need(String name) {
    String text = text(name);
    return text == null ? invoke.need(name) : text;
  }

  long number(String name, long otherwise) {
    String text = text(name);
    return text == null ? otherwise : Long.parseLong(text);
  }

  /** Identifies a request, and is equal for all its repetitions. */
  String request() {
    String key = invoke.text("key");
    return key == null ? "op " + invoke.op() : invoke.text("tenant") + " " + key;
  }

  long began() {
    return invoke.wall();
  }

  /** The greatest time if the outcome is unknown: the operation may still take effect. */
  long ended() {
    return end == null || end.kind() == Kind.INFO ? Long.MAX_VALUE : end.wall();
  }
}
