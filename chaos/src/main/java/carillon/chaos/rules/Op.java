package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.Kind;
import org.jspecify.annotations.Nullable;

/**
 * One operation of a client or worker: how it began, and how it ended, if it did.
 *
 * @param end null if nobody lived to see it
 */
record Op(Event invoke, @Nullable Event end) {

  boolean isOk() {
    return end != null && end.kind() == Kind.OK;
  }

  boolean mayHaveHappened() {
    return end == null || end.kind() != Kind.FAIL;
  }

  /** From the answer, or else from the question. */
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

  /** The same for all tries of one request. */
  String request() {
    String key = invoke.text("key");
    return key == null ? "op " + invoke.op() : invoke.text("tenant") + " " + key;
  }

  long began() {
    return invoke.wall();
  }

  /** The end of time where there was none: what nobody knows of may happen yet. */
  long ended() {
    return end == null || end.kind() == Kind.INFO ? Long.MAX_VALUE : end.wall();
  }
}
