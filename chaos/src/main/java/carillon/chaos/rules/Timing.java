package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.Row;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Nothing too early; and when all is well again, nothing too late. */
final class Timing {

  /** Times cross the API in milliseconds. */
  private static final long ROUNDING = 1000;

  /** An answer may be read before the receiver has noted that it sent it. */
  private static final long NOTED_LATE = 50_000;

  /** With 429 the receiver always asks for one second. */
  private static final long RETRY_AFTER = 1_000_000;

  private static final long WINDOW = 5_000_000;
  private static final long MOST_DRAIN_SECONDS = 60;
  private static final double MORE = 1.2;

  private Timing() {}

  static List<Violation> early(Facts facts) {
    List<Violation> found = new ArrayList<>();
    facts.changes().forEach((task, changes) -> changes.forEach(c -> claimedEarly(task, c, found)));
    facts
        .deliveries()
        .forEach(
            (task, deliveries) -> {
              Long due = due(facts, task);
              if (due != null && deliveries.getFirst().began() < due - ROUNDING) {
                found.add(tooEarly(task, due - deliveries.getFirst().began(), "it was due"));
              }
              for (int i = 1; i < deliveries.size(); i++) {
                retriedEarly(facts, deliveries.get(i - 1), deliveries.get(i), found);
              }
            });
    facts
        .handed()
        .forEach(
            (task, given) -> {
              Long due = due(facts, task);
              long first = given.stream().mapToLong(each -> each.claim().ended()).min().orElse(0);
              if (due != null && first < due - ROUNDING) {
                found.add(tooEarly(task, due - first, "it was due"));
              }
            });
    return found;
  }

  private static Violation tooEarly(String task, long by, String than) {
    return Violation.of(Rule.R8, task, "sent %d ms before %s", by / 1000, than);
  }

  private static @Nullable Long due(Facts facts, String task) {
    Op submit = facts.submitOf(task);
    Row row = facts.task(task);
    if (submit != null) {
      String dueAt = submit.text("dueAt");
      return dueAt == null ? null : Long.valueOf(dueAt);
    }
    return row == null ? null : row.micros("fire_at");
  }

  private static void claimedEarly(String task, Row change, List<Violation> found) {
    Long ready = change.micros("ready_at");
    if ("PENDING".equals(change.text("from_state"))
        && "RUNNING".equals(change.text("to_state"))
        && ready != null
        && Facts.at(change) < ready) {
      found.add(
          Violation.of(
              Rule.R8,
              task,
              "claimed %d ms before it was ready",
              (ready - Facts.at(change)) / 1000));
    }
  }

  private static void retriedEarly(
      Facts facts, Delivery before, Delivery again, List<Violation> found) {
    Event end = before.end();
    String status = end == null ? null : end.text("status");
    if (end == null || status == null) {
      return;
    }
    boolean isRefused = status.startsWith("5");
    long wait =
        status.equals("429")
            ? RETRY_AFTER
            : isRefused ? facts.options().number("retryMs", 0) * 1000 : 0;
    long floor = end.wall() + wait - NOTED_LATE;
    String task = again.task();
    // A redrive starts anew at once.
    if (wait > 0
        && again.began() < floor
        && !isReleased(facts, task, before.fence())
        && !facts.mayBeRedriven(task, before.began(), again.began())) {
      found.add(tooEarly(task, floor - again.began(), "the answer " + status + " allows"));
    }
  }

  /** Its node stopped before it knew of the answer, so the attempt was given back. */
  private static boolean isReleased(Facts facts, String task, long fence) {
    return facts.attempts(task).stream()
        .anyMatch(row -> row.number("fence") == fence && row.need("outcome").equals("RELEASED"));
  }

  static List<Violation> liveness(Facts facts) {
    List<Violation> found = new ArrayList<>();
    Long from = facts.phase("liveness");
    Long until = facts.phase("heal");
    if (from != null && until != null) {
      stalls(facts, from, until, found);
    }
    Long drain = facts.phase("drain");
    if (drain != null) {
      long bound = facts.options().number("drainSeconds", MOST_DRAIN_SECONDS) * 1_000_000;
      for (Row row : facts.tasks().values()) {
        Long finished = row.micros("finished_at");
        if (finished != null && finished > drain + bound) {
          long late = (finished - drain) / 1_000_000;
          found.add(Violation.of(Rule.R19, row.need("id"), "ended %d s after the load did", late));
        }
      }
    }
    return found;
  }

  private static void stalls(Facts facts, long from, long until, List<Violation> found) {
    int windows = (int) ((until - from) / WINDOW);
    int[] ended = new int[Math.max(windows, 0)];
    for (Row row : facts.tasks().values()) {
      Long finished = row.micros("finished_at");
      if (finished != null && finished >= from && (finished - from) / WINDOW < windows) {
        ended[(int) ((finished - from) / WINDOW)]++;
      }
    }
    for (int i = 0; i < windows; i++) {
      if (ended[i] == 0) {
        found.add(
            Violation.of(
                Rule.R19,
                null,
                "no task ended from second %d to %d of the liveness phase",
                i * WINDOW / 1_000_000,
                (i + 1) * WINDOW / 1_000_000));
      }
    }
  }

  /** What a node had when it was warm, beside what it has at the end. */
  static List<Violation> resources(Facts facts) {
    Map<String, Event> warm = new HashMap<>();
    List<Violation> found = new ArrayList<>();
    for (Event event : facts.history().events()) {
      if (!event.is("resources")) {
        continue;
      }
      String node = event.need("node");
      Event before = warm.putIfAbsent(node, event);
      if (before != null && "check".equals(event.text("phase"))) {
        for (String name : List.of("threads", "fds", "connections")) {
          if (event.fields().has(name) && event.number(name) > before.number(name) * MORE) {
            found.add(
                Violation.of(
                    Rule.R20,
                    null,
                    "%s has %s %s, %s when it was warm",
                    node,
                    event.text(name),
                    name,
                    before.text(name)));
          }
        }
      }
    }
    return found;
  }
}
