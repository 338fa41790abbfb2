package carillon.chaos.report;

import carillon.chaos.history.Event;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import carillon.chaos.load.Tenants;
import carillon.chaos.rules.CancelledSuspect;
import carillon.chaos.rules.Facts;
import carillon.chaos.rules.ImmediateStart;
import carillon.chaos.rules.RacingEdit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How often runs were exposed to each risk. A run without violations is worth no more than that:
 * with none in n exposures, the probability of one is below 3/n, with 95 % confidence.
 */
public record Exposure(Map<Counter, Long> counts) {

  private static final int ENOUGH_ACKNOWLEDGED = 50;
  private static final long DEFAULT_LEASE_MILLIS = 3_000;
  private static final Set<String> KILLS = Set.of("kill9", "kill-all", "leader-kill");
  private static final Set<String> PAUSES = Set.of("pause-long", "leader-pause");

  /** A kind of exposure, and the minimum for a conclusive run. */
  public enum Counter {
    ACKNOWLEDGED("acknowledged submits", 12_000),
    DELIVERIES("deliveries observed", 14_000),
    FIRES("schedule fires that were due", 2_500),
    CANCELS("cancels", 800),
    CANCELS_RUNNING("cancels of running tasks", 100),
    CANCELS_HELD_BACK("cancels of suspects that their node held back", 0),
    IMMEDIATE_STARTS("tasks that were claimed in the transaction that created them", 200),
    EDITS("edits of payloads", 400),
    EDITS_RACING("edits of payloads less than 50 ms before a claim", 60),
    PULLED("completions by pull workers", 1_500),
    RESUBMITS("submits repeated because their outcome was unknown", 200),
    FAULTS("faults that took effect", 60),
    KINDS("kinds of faults", 12),
    KILLS("kills with an attempt in flight", 8),
    PAUSES("pauses beyond the lease with an attempt in flight", 6),
    STALE("stale writes rejected, of nodes and late workers", 10),
    FENCED("stale writes rejected, of nodes only", 0),
    STALE_TERMS("writes of stale leaders rejected", 0),
    AMBIGUOUS("commits whose response was dropped", 20),
    CRASHES("database crashes with 50 submits acknowledged in the last second", 3),
    LEADERS("changes of leader to another node", 5),
    DIALS("connections to a name that switches to a forbidden address", 100),
    FORBIDDEN("tasks for a forbidden address", 50);

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

  /** The sum over several runs. */
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

  /** The upper bound of the probability of a violation per exposure, with 95 % confidence. */
  public double bound(Counter counter) {
    return of(counter) == 0 ? 1 : Math.min(1, 3.0 / of(counter));
  }

  /** Counters below their minimum. */
  public List<Counter> missing() {
    List<Counter> missing = new ArrayList<>();
    for (Counter counter : Counter.values()) {
      if (of(counter) < counter.minimum()) {
        missing.add(counter);
      }
    }
    return missing;
  }

  /** Counts the exposures of one history. */
  private record Count(Map<Counter, Long> counts, Set<String> kinds) {

    void add(Counter counter, long number) {
      counts.merge(counter, number, Long::sum);
    }

    void all(History history) {
      Set<String> ids = new HashSet<>();
      Set<String> lost = new HashSet<>();
      Set<String> repeated = new HashSet<>();
      Map<Long, Event> invokes = new HashMap<>();
      for (Event event : history.events()) {
        Long op = event.op();
        if (op == null) {
          event(event);
        } else if (event.kind() == Kind.INVOKE) {
          invokes.put(op, event);
          if (event.what().equals("submit") && lost.contains(event.need("key"))) {
            repeated.add(event.need("key"));
          }
        } else {
          end(event, invokes.get(op), ids, lost);
        }
      }
      add(Counter.ACKNOWLEDGED, ids.size());
      add(Counter.RESUBMITS, repeated.size());
      if (!history.rows(Table.MARK_LOG).isEmpty()) {
        add(Counter.CANCELS_HELD_BACK, CancelledSuspect.in(new Facts(history)).size());
      }
      if (!history.rows(Table.TASK_LOG).isEmpty()) {
        Facts facts = new Facts(history);
        add(Counter.EDITS_RACING, RacingEdit.in(facts).size());
        add(Counter.IMMEDIATE_STARTS, ImmediateStart.in(facts).size());
      }
      faults(history);
      rows(history);
    }

    private void event(Event event) {
      switch (event.what()) {
        case "recv-start" -> add(Counter.DELIVERIES, 1);
        case "dial" -> add(Counter.DIALS, event.fields().is("allowed") ? 1 : 0);
        case "egress" -> add(Counter.FORBIDDEN, event.number("status") == 422 ? 1 : 0);
        case "metric" -> {
          long value = (long) Double.parseDouble(event.need("value"));
          switch (event.need("name")) {
            case "carillon_completer_fenced_total" -> {
              add(Counter.FENCED, value);
              add(Counter.STALE, value);
            }
            case "carillon_stale_terms_total" -> add(Counter.STALE_TERMS, value);
            default -> {}
          }
        }
        default -> {}
      }
    }

    /** Counts faults that took effect, not those that failed or hit nothing. */
    private void faults(History history) {
      Map<String, Event> ends = new HashMap<>();
      Set<String> failed = new HashSet<>();
      long lease = DEFAULT_LEASE_MILLIS;
      for (Event event : history.events()) {
        switch (event.what()) {
          case "options" -> lease = event.fields().number("leaseMs", lease);
          case "fault-end" -> ends.put(id(event), event);
          case "fault-failed" -> failed.add(id(event));
          default -> {}
        }
      }
      for (Event event : history.events()) {
        Event end = ends.get(id(event));
        if (event.is("fault-start") && !failed.contains(id(event)) && !hadNoEffect(end)) {
          fault(event, end, lease * 1000);
        }
      }
    }

    private static String id(Event event) {
      return event.text("fault") + " " + event.text("id");
    }

    private static boolean hadNoEffect(@Nullable Event end) {
      return end != null
          && (end.fields().number("ended", 1) == 0 || end.fields().number("cuts", 1) == 0);
    }

    private void fault(Event start, @Nullable Event end, long lease) {
      String fault = start.need("fault");
      add(Counter.FAULTS, 1);
      kinds.add(fault);
      boolean inFlight = start.fields().number("inFlight", 0) > 0;
      boolean isLong = end != null && end.wall() - start.wall() > lease;
      add(Counter.KILLS, inFlight && KILLS.contains(fault) ? 1 : 0);
      add(Counter.PAUSES, inFlight && isLong && PAUSES.contains(fault) ? 1 : 0);
      if (fault.equals("ambiguous-commit") && end != null) {
        add(Counter.AMBIGUOUS, end.fields().number("cuts", 0));
      }
      boolean enough = start.fields().number("acknowledged", 0) >= ENOUGH_ACKNOWLEDGED;
      add(Counter.CRASHES, enough && fault.equals("pg-crash") ? 1 : 0);
    }

    private void end(Event end, @Nullable Event invoke, Set<String> ids, Set<String> lost) {
      if (invoke == null) {
        return;
      }
      switch (end.what()) {
        case "submit" -> {
          if (end.kind() == Kind.OK) {
            ids.add(end.need("id"));
            add(Counter.FORBIDDEN, Tenants.INTERNAL.equals(invoke.text("type")) ? 1 : 0);
          } else if (end.kind() == Kind.INFO && !isRefused(end)) {
            lost.add(invoke.need("key"));
          }
        }
        case "cancel" -> {
          add(Counter.CANCELS, end.kind() == Kind.OK ? 1 : 0);
          boolean running = end.kind() == Kind.OK && end.number("status") == 202;
          add(Counter.CANCELS_RUNNING, running ? 1 : 0);
        }
        case "edit" -> add(Counter.EDITS, end.kind() == Kind.OK ? 1 : 0);
        case "work-report" -> {
          boolean isStale = "stale".equals(end.text("result")) && invoke.fields().is("late");
          boolean isDone =
              "accepted".equals(end.text("result")) && invoke.need("outcome").equals("completed");
          add(Counter.STALE, isStale ? 1 : 0);
          add(Counter.PULLED, isDone ? 1 : 0);
        }
        default -> {}
      }
    }

    /**
     * An overloaded node has rejected the submit, so its outcome is known; a node without its
     * database cannot know it.
     */
    private static boolean isRefused(Event end) {
      return String.valueOf(end.text("error")).toLowerCase(Locale.ROOT).contains("overloaded");
    }

    private void rows(History history) {
      long now = history.events().isEmpty() ? 0 : history.events().getLast().wall();
      for (Row fire : history.rows(Table.FIRE)) {
        Long at = fire.micros("at");
        add(Counter.FIRES, at != null && at <= now ? 1 : 0);
      }
      List<Row> terms = new ArrayList<>(history.rows(Table.LEADER_LOG));
      terms.sort(Comparator.comparingLong(row -> row.number("seq")));
      String before = null;
      for (Row row : terms) {
        String label = label(row.text("node"));
        before = before == null ? label(row.text("from_node")) : before;
        if (label != null) {
          add(Counter.LEADERS, before != null && !before.equals(label) ? 1 : 0);
          before = label;
        }
      }
    }

    /** The id of a node starts with its label, and differs in each life. */
    private static @Nullable String label(@Nullable String node) {
      int dash = node == null ? -1 : node.lastIndexOf('-');
      return node == null || dash < 0 ? node : node.substring(0, dash);
    }
  }
}
