package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.Row;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** No attempt starts early, and no node uses more resources at the end than after warm-up. */
final class Timing {

  /** The API rounds times to milliseconds. */
  private static final long ROUNDING = 1000;

  /**
   * A node computes retry times with the latest time that the database's clock may show. Its own
   * clock may drift between two measurements.
   */
  private static final long CLOCK_ERROR = 10_000;

  /** The receiver always sends this Retry-After with 429. */
  private static final long RETRY_AFTER = 1_000_000;

  /** The timeout may have started this long before the receiver sees the request. */
  private static final long SEEN_LATE = 500_000;

  private static final double MAX_GROWTH = 1.2;

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
        .workerClaims()
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

  private static Violation tooEarly(String task, long by, String limit) {
    return Violation.of(Rule.R8, task, "delivered %d ms before %s", by / 1000, limit);
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
    Long floor = end == null || status == null ? null : floor(facts, before, status);
    String task = again.task();
    // A redrive starts without a delay.
    if (floor != null
        && again.began() < floor - CLOCK_ERROR
        && !isReleased(facts, task, before.fence())
        && !facts.mayBeRedriven(task, before.began(), again.began())) {
      found.add(
          tooEarly(task, floor - again.began(), "the retry delay after " + status + " had passed"));
    }
  }

  /** The earliest time of the next attempt; null if there is no limit. */
  private static @Nullable Long floor(Facts facts, Delivery before, String status) {
    long retry = facts.options().number("retryMs", 0) * 1000;
    if (status.equals("429")) {
      return before.answered() + RETRY_AFTER;
    }
    if (retry > 0 && (status.startsWith("5") || status.equals("rst"))) {
      return before.answered() + retry;
    }
    // A node that is paused between the start of its deadline and its request times out early.
    boolean isSilent = status.equals("none") && !mayBeStopped(facts, before);
    return isSilent && retry > 0 ? before.began() + facts.timeout() + retry - SEEN_LATE : null;
  }

  private static boolean mayBeStopped(Facts facts, Delivery delivery) {
    return facts.faults().stream()
        .anyMatch(
            fault ->
                (fault.kind().contains("pause") || fault.kind().equals("flap"))
                    && fault.overlaps(delivery.began(), delivery.began(), facts.timeout()));
  }

  /** Whether the attempt was given back, because the node stopped before it read the response. */
  private static boolean isReleased(Facts facts, String task, long fence) {
    return facts.attempts(task).stream()
        .anyMatch(row -> row.number("fence") == fence && row.need("outcome").equals("RELEASED"));
  }

  /** Compares the resource use of each node at the end with that after warm-up. */
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
          if (event.fields().has(name) && event.number(name) > before.number(name) * MAX_GROWTH) {
            found.add(
                Violation.of(
                    Rule.R20,
                    null,
                    "%s has %s %s, but had %s after warm-up",
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
