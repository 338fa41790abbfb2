package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.Fields;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Compares the fires of each schedule with its nominal times, which are computed independently: by
 * multiplication, or by testing every second.
 */
final class NominalTimes {

  /** A fire this close to the end of the run may still be missing. */
  private static final long BOUND = 15_000_000;

  private static final long SECOND = 1_000_000;

  private final String name;
  private final @Nullable Long anchor;
  private final @Nullable Long every;
  private final @Nullable CronMatcher cron;
  private final long from;

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
    Map<String, Long> paused = new HashMap<>();
    for (Op pause : facts.ops("schedule-pause")) {
      paused.merge(pause.need("tenant") + " " + pause.need("name"), pause.began(), Math::min);
    }
    puts.forEach(
        (name, of) -> {
          Row row = schedules.get(name);
          if (row != null) {
            long until = Math.min(facts.end() - BOUND, paused.getOrDefault(name, Long.MAX_VALUE));
            List<Row> own = fires.getOrDefault(row.need("id"), List.of());
            new NominalTimes(name, of, row.micros("anchor")).compare(own, until, found);
            if (!paused.containsKey(name) && of.stream().allMatch(NominalTimes::neverSkips)) {
              skipped(name, own, found);
            }
          } else if (!deleted.contains(name) && of.stream().anyMatch(Op::isOk)) {
            found.add(Violation.of(Rule.R10, null, "schedule %s is missing", name));
          }
        });
    doubled(facts, found);
    return found;
  }

  /** Whether neither the overlap nor the catch-up policy allows the schedule to skip a time. */
  private static boolean neverSkips(Op put) {
    return "allow".equals(put.text("overlap")) && "all".equals(put.text("catchUp"));
  }

  private static void skipped(String name, List<Row> fires, List<Violation> found) {
    for (Row fire : fires) {
      if (fire.need("kind").equals("SCHEDULED") && fire.text("task") == null) {
        found.add(
            Violation.of(
                Rule.R10,
                null,
                "%s must not skip any time, but skipped %s: %s",
                name,
                fire.need("at"),
                fire.text("skipped")));
      }
    }
  }

  private NominalTimes(String name, List<Op> puts, @Nullable Long anchor) {
    Event put = puts.getFirst().invoke();
    Long start = put.fields().micros("startAt");
    this.name = name;
    this.anchor = start == null ? anchor : start;
    this.every = put.fields().has("every") ? put.number("every") * SECOND : null;
    this.cron = every == null ? CronMatcher.of(put) : null;
    // The nominal times are known only for a schedule that never changed, and only once it was
    // acknowledged.
    boolean isChanged = puts.stream().anyMatch(each -> !rule(each).equals(rule(puts.getFirst())));
    long made = puts.stream().filter(Op::isOk).mapToLong(Op::ended).min().orElse(Long.MAX_VALUE);
    this.from = isChanged ? Long.MAX_VALUE : start == null ? made : Math.max(made, start);
  }

  private static Fields rule(Op put) {
    return put.invoke().fields().and("key", null).and("node", null);
  }

  private void compare(List<Row> fires, long until, List<Violation> found) {
    Set<Long> fired = new HashSet<>();
    for (Row fire : fires) {
      Long at = fire.micros("at");
      if (at == null || !fire.need("kind").equals("SCHEDULED")) {
        continue;
      }
      String task = fire.text("task");
      if (!fired.add(at)) {
        found.add(Violation.of(Rule.R10, task, "%s has two fires at %s", name, fire.need("at")));
      }
      if (from != Long.MAX_VALUE && !isNominal(at)) {
        found.add(
            Violation.of(
                Rule.R10,
                task,
                "%s has a fire at %s, which is not a nominal time",
                name,
                fire.need("at")));
      }
    }
    for (long at : expected(until)) {
      if (!fired.contains(at)) {
        Instant time = Instant.ofEpochSecond(at / SECOND, at % SECOND * 1000);
        found.add(Violation.of(Rule.R10, null, "%s has no fire at %s", name, time));
      }
    }
  }

  private List<Long> expected(long until) {
    List<Long> times = new ArrayList<>();
    if (from == Long.MAX_VALUE) {
      return times;
    }
    if (every != null && anchor != null) {
      long first = anchor + Math.max(0, Math.ceilDiv(from - anchor, every)) * every;
      for (long at = first; at <= until; at += every) {
        times.add(at);
      }
    } else if (cron != null) {
      for (long second = Math.ceilDiv(from, SECOND); second * SECOND <= until; second++) {
        if (cron.matches(second)) {
          times.add(second * SECOND);
        }
      }
    }
    return times;
  }

  private boolean isNominal(long at) {
    if (cron != null) {
      return at % SECOND == 0 && cron.matches(at / SECOND);
    }
    return anchor == null || every == null || (at >= anchor && (at - anchor) % every == 0);
  }

  /** One nominal time creates one task, independently of the fires. */
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
            Violation.of(Rule.R10, row.need("id"), "%s already created task %s", fire, first));
      }
    }
  }
}
