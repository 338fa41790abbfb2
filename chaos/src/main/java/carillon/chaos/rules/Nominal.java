package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Compares the fires of each schedule with its nominal times, which are computed here a second
 * time: by multiplication, or by looking at every second whether it fits.
 */
final class Nominal {

  /** Later than this a fire may lawfully be missing when the run ends. */
  private static final long BOUND = 15_000_000;

  private static final long SECOND = 1_000_000;

  private Nominal() {}

  static List<Violation> cron(Facts facts) {
    List<Violation> found = new ArrayList<>();
    Map<String, List<Op>> puts = new HashMap<>();
    for (Op put : facts.ops("schedule-put")) {
      if (put.mayHaveHappened()) {
        puts.computeIfAbsent(put.need("tenant") + " " + put.need("name"), _ -> new ArrayList<>())
            .add(put);
      }
    }
    Set<String> deleted = new HashSet<>();
    facts
        .ops("schedule-delete")
        .forEach(op -> deleted.add(op.need("tenant") + " " + op.need("name")));
    Map<String, List<Row>> fires = new HashMap<>();
    for (Row fire : facts.history().rows(Table.FIRE)) {
      fires.computeIfAbsent(fire.need("schedule"), _ -> new ArrayList<>()).add(fire);
    }
    Map<String, Row> schedules = new HashMap<>();
    for (Row row : facts.history().rows(Table.SCHEDULE)) {
      schedules.put(facts.tenantOf(row) + " " + row.need("name"), row);
    }
    puts.forEach(
        (name, of) -> {
          Row row = schedules.get(name);
          if (row != null) {
            compare(facts, name, of, fires.getOrDefault(row.need("id"), List.of()), found);
          } else if (!deleted.contains(name) && of.stream().anyMatch(Op::isOk)) {
            found.add(Violation.of(Rule.R10, null, "the schedule %s is gone", name));
          }
        });
    doubled(facts, found);
    return found;
  }

  private static void compare(
      Facts facts, String name, List<Op> puts, List<Row> fires, List<Violation> found) {
    Event put = puts.getFirst().invoke();
    boolean isChanged =
        puts.stream().anyMatch(each -> !each.invoke().fields().and("key", null).and("node", null)
            .equals(put.fields().and("key", null).and("node", null)));
    Set<Long> fired = new TreeSet<>();
    for (Row fire : fires) {
      Long at = fire.micros("at");
      if (at == null || !fire.need("kind").equals("SCHEDULED")) {
        continue;
      }
      if (!fired.add(at)) {
        found.add(Violation.of(Rule.R10, fire.text("task"), "%s has %s twice", name, text(fire)));
      }
      if (!isChanged && !isNominal(put, at)) {
        found.add(
            Violation.of(Rule.R10, fire.text("task"), "%s never has %s", name, text(fire)));
      }
    }
    long from = Math.max(start(put), isChanged ? Long.MAX_VALUE : created(puts));
    for (long at : expected(put, from, facts.end() - BOUND)) {
      if (!fired.contains(at)) {
        found.add(
            Violation.of(
                Rule.R10,
                null,
                "%s has neither a task nor a reason for %s",
                name,
                Instant.ofEpochSecond(at / SECOND, at % SECOND * 1000)));
      }
    }
  }

  private static String text(Row fire) {
    return fire.need("at");
  }

  /** From when on all of its times must be there: it was certainly made by then. */
  private static long created(List<Op> puts) {
    return puts.stream().filter(Op::isOk).mapToLong(Op::ended).min().orElse(Long.MAX_VALUE);
  }

  private static long start(Event put) {
    Long start = put.fields().micros("startAt");
    return start == null ? Long.MIN_VALUE : start;
  }

  static List<Long> expected(Event put, long from, long until) {
    List<Long> times = new ArrayList<>();
    if (from == Long.MAX_VALUE) {
      return times;
    }
    Long every = every(put);
    if (every != null) {
      long anchor = start(put);
      if (anchor != Long.MIN_VALUE) {
        long first = anchor + Math.max(0, Math.ceilDiv(from - anchor, every)) * every;
        for (long at = first; at <= until; at += every) {
          times.add(at);
        }
      }
      return times;
    }
    EverySecond cron = EverySecond.of(put);
    for (long second = Math.ceilDiv(from, SECOND); second * SECOND <= until; second++) {
      if (cron.fits(second)) {
        times.add(second * SECOND);
      }
    }
    return times;
  }

  private static boolean isNominal(Event put, long at) {
    Long every = every(put);
    if (every == null) {
      return at % SECOND == 0 && EverySecond.of(put).fits(at / SECOND);
    }
    long anchor = start(put);
    return anchor == Long.MIN_VALUE || (at >= anchor && (at - anchor) % every == 0);
  }

  private static @Nullable Long every(Event put) {
    return put.fields().has("every") ? put.number("every") * SECOND : null;
  }

  /** One nominal time, one task: whatever the fires say. */
  private static void doubled(Facts facts, List<Violation> found) {
    Map<String, String> tasks = new HashMap<>();
    for (Row row : facts.tasks().values()) {
      String schedule = row.text("schedule");
      String at = row.text("fire_at");
      if (schedule == null || at == null) {
        continue;
      }
      String fire = facts.tenantOf(row) + " " + schedule + " " + at;
      String first = tasks.putIfAbsent(fire, row.need("id"));
      if (first != null) {
        found.add(
            Violation.of(Rule.R10, row.need("id"), "%s has made %s already", fire, first));
      }
    }
  }
}
