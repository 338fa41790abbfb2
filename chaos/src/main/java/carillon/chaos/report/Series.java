package carillon.chaos.report;

import carillon.chaos.history.Event;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** Values over the time of a run: events per second, faults, phases and start delays. */
final class Series {

  private static final double NANOS = 1e9;

  private final History history;
  private final int seconds;

  /**
   * A time span in seconds.
   *
   * @param row the node, {@code database} or {@code all}
   */
  record Band(String row, String kind, double from, double until) {}

  /** A phase of the run, which lasts until the next one starts. */
  record Phase(String name, double from) {}

  Series(History history) {
    this.history = history;
    long last = history.events().isEmpty() ? 0 : history.events().getLast().t();
    this.seconds = (int) Math.ceil(last / NANOS) + 1;
  }

  int seconds() {
    return seconds;
  }

  int[] acknowledged() {
    return count(event -> event.is(Kind.OK, "submit"));
  }

  int[] delivered() {
    return count(
        event -> event.is("recv-end") && String.valueOf(event.text("status")).startsWith("2"));
  }

  int[] unknown() {
    return count(event -> event.is(Kind.INFO, "submit"));
  }

  private int[] count(Predicate<Event> which) {
    int[] counts = new int[seconds];
    for (Event event : history.events()) {
      if (which.test(event)) {
        counts[second(event)]++;
      }
    }
    return counts;
  }

  private static int second(Event event) {
    return (int) (event.t() / NANOS);
  }

  List<Phase> phases() {
    List<Phase> phases = new ArrayList<>();
    for (Event event : history.events()) {
      if (event.is("phase")) {
        phases.add(new Phase(event.need("name"), event.t() / NANOS));
      }
    }
    return phases;
  }

  List<Band> faults() {
    Map<String, Double> ends = new HashMap<>();
    for (Event event : history.events()) {
      if (event.is("fault-end")) {
        ends.put(id(event), event.t() / NANOS);
      }
    }
    List<Band> bands = new ArrayList<>();
    for (Event event : history.events()) {
      if (event.is("fault-start")) {
        String kind = event.need("fault");
        String node = event.text("node");
        String row = node != null ? node : kind.startsWith("pg-") ? "database" : "all";
        double from = event.t() / NANOS;
        bands.add(new Band(row, kind, from, ends.getOrDefault(id(event), (double) seconds)));
      }
    }
    return bands;
  }

  private static String id(Event event) {
    return event.need("fault") + " " + event.text("id");
  }

  /**
   * Milliseconds from when a task was due until its first delivery arrived, sorted.
   *
   * @param from the first phase that counts
   * @param until the first phase that does not count
   */
  List<Long> startDelays(String from, String until) {
    long begin = at(from, 0);
    long end = at(until, Long.MAX_VALUE);
    Map<String, Long> due = new HashMap<>();
    Map<Long, Event> submits = new HashMap<>();
    List<Long> delays = new ArrayList<>();
    for (Event event : history.events()) {
      Long op = event.op();
      if (op != null && event.is(Kind.INVOKE, "submit")) {
        submits.put(op, event);
      } else if (op != null && event.is(Kind.OK, "submit")) {
        Event submit = submits.get(op);
        Long dueAt = submit == null ? null : submit.fields().micros("dueAt");
        if (dueAt != null) {
          due.putIfAbsent(event.need("id"), dueAt);
        }
      } else if (event.is("recv-start")) {
        Long dueAt = due.remove(event.need("task"));
        if (dueAt != null && dueAt >= begin && event.wall() < end) {
          delays.add(Math.max(0, event.wall() - dueAt) / 1000);
        }
      }
    }
    delays.sort(null);
    return delays;
  }

  private long at(String phase, long fallback) {
    for (Event event : history.events()) {
      if (event.is("phase") && phase.equals(event.text("name"))) {
        return event.wall();
      }
    }
    return fallback;
  }

  static long percentile(List<Long> sorted, double share) {
    return sorted.isEmpty()
        ? 0
        : sorted.get((int) Math.min(sorted.size() - 1, sorted.size() * share));
  }
}
