package carillon.chaos.history;

import org.jspecify.annotations.Nullable;

/**
 * One event of a run, as the harness observed it.
 *
 * @param seq position in the total order of the run, from 1
 * @param t nanoseconds since the start of the run, from a monotonic clock
 * @param wall microseconds since 1970, from the clock that the database reads too
 * @param op the operation that the event belongs to; null for an observation
 * @param what such as {@code submit}, {@code recv-start} or {@code fault-start}
 */
public record Event(
    long seq, long t, long wall, @Nullable Long op, Kind kind, String what, Fields fields) {

  public boolean is(Kind kind, String what) {
    return this.kind == kind && this.what.equals(what);
  }

  public boolean is(String what) {
    return is(Kind.EVENT, what);
  }

  public @Nullable String text(String name) {
    return fields.text(name);
  }

  public String need(String name) {
    return fields.need(name);
  }

  public long number(String name) {
    return fields.number(name);
  }

  /** One line of {@code history.jsonl}. */
  public String line() {
    return Fields.of("seq", seq)
        .and("t", t)
        .and("wall", wall)
        .and("op", op)
        .and("kind", kind.written())
        .and("what", what)
        .and(fields)
        .toString();
  }

  static Event read(String line) {
    Fields all = Fields.read(line);
    return new Event(
        all.number("seq"),
        all.number("t"),
        all.number("wall"),
        all.has("op") ? all.number("op") : null,
        Kind.read(all.need("kind")),
        all.need("what"),
        all.and("seq", null)
            .and("t", null)
            .and("wall", null)
            .and("op", null)
            .and("kind", null)
            .and("what", null));
  }
}
