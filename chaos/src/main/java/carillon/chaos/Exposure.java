package carillon.chaos;

import carillon.chaos.history.Event;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How often runs were exposed to what could have gone wrong. A clean verdict is worth no more than
 * that: with none of n gone wrong, the chance of one is below 3/n in 19 of 20 cases.
 */
public record Exposure(Map<Counter, Long> counts) {

  private static final int ENOUGH_ACKNOWLEDGED = 50;
  private static final Set<String> KILLS = Set.of("kill9", "kill-all", "leader-kill");
  private static final Set<String> PAUSES = Set.of("pause-long", "leader-pause");

  /** What is counted, and how much of it a run needs to mean something. */
  public enum Counter {
    ACKNOWLEDGED("acknowledged submits", 12_000),
    DELIVERIES("deliveries observed", 14_000),
    FIRES("cron fires due", 2_500),
    CANCELS("cancels", 800),
    CANCELS_RUNNING("cancels of running tasks", 100),
    PULLED("completions by pull workers", 1_500),
    RESUBMITS("submits repeated after an indeterminate answer", 200),
    FAULTS("fault events", 60),
    KINDS("kinds of faults", 12),
    KILLS("kills with an attempt in flight", 8),
    PAUSES("pauses beyond the lease with an attempt in flight", 6),
    STALE("stale writes refused", 10),
    AMBIGUOUS("ambiguous commits", 20),
    CRASHES("database crashes with 50 acknowledged in the second before", 3),
    LEADERS("changes of leader", 5);

    private final String title;
    private final long minimum;

    Counter(String title, long minimum) {
      this.title = title;
      this.minimum = minimum;
    }

    public String title() {
      return title;
    }

    public long minimum() {
      return minimum;
    }
  }

  /** Of several runs together. */
  public static Exposure of(List<History> histories) {
    Map<Counter, Long> counts = new EnumMap<>(Counter.class);
    for (Counter counter : Counter.values()) {
      counts.put(counter, 0L);
    }
    Set<String> kinds = new HashSet<>();
    for (History history : histories) {
      new Count(counts, kinds).all(history);
    }
    counts.put(Counter.KINDS, (long) kinds.size());
    return new Exposure(counts);
  }

  public long of(Counter counter) {
    return counts.getOrDefault(counter, 0L);
  }

  /** Below this is the chance of a failure for each exposure, with 95 % confidence. */
  public double bound(Counter counter) {
    return of(counter) == 0 ? 1 : Math.min(1, 3.0 / of(counter));
  }

  /** Those that are below their minimum. */
  public List<Counter> missing() {
    List<Counter> missing = new ArrayList<>();
    for (Counter counter : Counter.values()) {
      if (of(counter) < counter.minimum()) {
        missing.add(counter);
      }
    }
    return missing;
  }

  /** Goes through one history. */
  private record Count(Map<Counter, Long> counts, Set<String> kinds) {

    void add(Counter counter, long number) {
      counts.merge(counter, number, Long::sum);
    }

    void all(History history) {
      Set<String> ids = new HashSet<>();
      Set<String> unknown = new HashSet<>();
      Map<Long, Event> invokes = new HashMap<>();
      for (Event event : history.events()) {
        Long op = event.op();
        if (op == null) {
          event(event);
        } else if (event.kind() == Kind.INVOKE) {
          invokes.put(op, event);
          if (event.what().equals("submit") && unknown.contains(event.need("key"))) {
            add(Counter.RESUBMITS, 1);
          }
        } else {
          end(event, invokes.get(op), ids, unknown);
        }
      }
      add(Counter.ACKNOWLEDGED, ids.size());
      rows(history);
    }

    private void event(Event event) {
      switch (event.what()) {
        case "recv-start" -> add(Counter.DELIVERIES, 1);
        case "fault-start" -> fault(event);
        case "fault-end" -> add(Counter.AMBIGUOUS, event.fields().number("cuts", 0));
        case "metric" -> {
          if (event.need("name").equals("carillon_completer_fenced_total")
              || event.need("name").equals("carillon_stale_terms_total")) {
            add(Counter.STALE, (long) Double.parseDouble(event.need("value")));
          }
        }
        default -> {}
      }
    }

    private void fault(Event event) {
      String fault = event.need("fault");
      add(Counter.FAULTS, 1);
      kinds.add(fault);
      boolean inFlight = event.fields().number("inFlight", 0) > 0;
      add(Counter.KILLS, inFlight && KILLS.contains(fault) ? 1 : 0);
      add(Counter.PAUSES, inFlight && PAUSES.contains(fault) ? 1 : 0);
      boolean enough = event.fields().number("acknowledged", 0) >= ENOUGH_ACKNOWLEDGED;
      add(Counter.CRASHES, enough && fault.equals("pg-crash") ? 1 : 0);
    }

    private void end(Event end, @Nullable Event invoke, Set<String> ids, Set<String> unknown) {
      if (invoke == null) {
        return;
      }
      switch (end.what()) {
        case "submit" -> {
          if (end.kind() == Kind.OK) {
            ids.add(end.need("id"));
          } else if (end.kind() == Kind.INFO) {
            unknown.add(invoke.need("key"));
          }
        }
        case "cancel" -> {
          add(Counter.CANCELS, end.kind() == Kind.OK ? 1 : 0);
          boolean running = end.kind() == Kind.OK && end.number("status") == 202;
          add(Counter.CANCELS_RUNNING, running ? 1 : 0);
        }
        case "work-report" -> {
          boolean isStale = "stale".equals(end.text("result"));
          boolean isDone =
              "accepted".equals(end.text("result")) && invoke.need("outcome").equals("completed");
          add(Counter.STALE, isStale ? 1 : 0);
          add(Counter.PULLED, isDone ? 1 : 0);
        }
        default -> {}
      }
    }

    private void rows(History history) {
      long now = history.events().isEmpty() ? 0 : history.events().getLast().wall();
      for (Row fire : history.rows(Table.FIRE)) {
        Long at = fire.micros("at");
        add(Counter.FIRES, at != null && at <= now ? 1 : 0);
      }
      long changes =
          history.rows(Table.LEADER_LOG).stream()
              .filter(row -> row.fields().number("term", 0) > row.fields().number("from_term", 0))
              .count();
      add(Counter.LEADERS, Math.max(0, changes));
    }
  }
}
