package carillon.chaos.report;

import carillon.chaos.history.Event;
import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import carillon.chaos.rules.Violation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * Lists for each task that broke a rule everything that is known about it, ordered by time. Read it
 * when a run has failed.
 */
public final class ViolationListing {

  private static final int MAX_TASKS = 50;
  private static final Set<Table> TASK_TABLES =
      Set.of(
          Table.TASK,
          Table.TASK_LOG,
          Table.MARK_LOG,
          Table.ATTEMPT,
          Table.TRANSITION,
          Table.DEAD_LETTER,
          Table.MISPLACED);

  private final History history;
  private final long start;
  private final Map<String, List<Line>> lines = new LinkedHashMap<>();
  private final Map<Long, Event> invokes = new HashMap<>();

  private record Line(long wall, String source, String what) {}

  private ViolationListing(History history, Set<String> tasks) {
    this.history = history;
    this.start = history.events().isEmpty() ? 0 : history.events().getFirst().wall();
    tasks.forEach(task -> lines.put(task, new ArrayList<>()));
    collect();
  }

  static String of(Seed seed) {
    return of("Seed " + seed.name(), seed.history(), seed.findings().failures());
  }

  /**
   * Writes a section per task.
   *
   * @param title names the run
   */
  public static String of(String title, History history, List<Violation> failures) {
    Set<String> tasks = new LinkedHashSet<>();
    for (Violation violation : failures) {
      String task = violation.task();
      if (task != null && tasks.size() < MAX_TASKS) {
        tasks.add(task);
      }
    }
    StringBuilder text = new StringBuilder("# " + title + "\n");
    text.append("\nTimes are seconds since the start of the run.\n");
    failures.stream()
        .filter(violation -> violation.task() == null)
        .forEach(violation -> text.append("\n- ").append(violation));
    text.append('\n');
    ViolationListing listing = new ViolationListing(history, tasks);
    for (String task : tasks) {
      text.append("\n## ").append(task).append("\n\n");
      failures.stream()
          .filter(violation -> task.equals(violation.task()))
          .forEach(
              v -> text.append("- ").append(v.rule()).append(": ").append(v.what()).append('\n'));
      text.append("\n```\n").append(listing.of(task)).append("```\n");
    }
    return text.toString();
  }

  private void collect() {
    for (Event event : history.events()) {
      Long op = event.op();
      if (op != null) {
        invokes.putIfAbsent(op, event);
      }
      for (String task : named(event)) {
        List<Line> of = lines.get(task);
        if (of != null) {
          of.add(line(event));
        }
      }
    }
    submits();
    for (Table table : TASK_TABLES) {
      for (Row row : history.rows(table)) {
        String task = row.text(table == Table.TASK ? "id" : "task");
        List<Line> of = task == null ? null : lines.get(task);
        if (of != null) {
          of.add(line(row));
        }
      }
    }
  }

  /** The start of a submit does not name its task; only its response does. */
  private void submits() {
    for (Event event : history.events()) {
      Long op = event.op();
      String id = event.text("id");
      List<Line> of = id == null ? null : lines.get(id);
      Event invoke = op == null ? null : invokes.get(op);
      if (of != null && invoke != null && !invoke.equals(event) && invoke.text("id") == null) {
        of.add(line(invoke));
      }
    }
  }

  private Set<String> named(Event event) {
    Set<String> named = new HashSet<>();
    for (String name : List.of("task", "id")) {
      String value = event.text(name);
      if (value != null) {
        named.add(value);
      }
    }
    event.fields().list("tasks").forEach(task -> named.add(String.valueOf(task.text("id"))));
    Long op = event.op();
    Event invoke = op == null ? null : invokes.get(op);
    if (invoke != null && invoke.text("id") != null) {
      named.add(invoke.need("id"));
    }
    return named;
  }

  private static Line line(Event event) {
    String what = event.what() + " " + event.kind().name().toLowerCase(Locale.ROOT);
    Long op = event.op();
    return new Line(
        event.wall(),
        op == null ? "receiver" : "op " + op,
        (op == null ? event.what() : what) + " " + shown(event.fields()));
  }

  private static Line line(Row row) {
    Long at =
        row.micros(
            switch (row.table()) {
              case TASK -> "finished_at";
              case ATTEMPT -> "ended_at";
              case DEAD_LETTER -> "died_at";
              default -> "at";
            });
    String table = row.table().name().toLowerCase(Locale.ROOT);
    String what = row.table() == Table.TASK_LOG ? change(row) : table + " " + shown(row.fields());
    return new Line(at == null ? Long.MAX_VALUE : at, "database", what);
  }

  /** Leaves out what the section or the line already shows. */
  private static Fields shown(Fields fields) {
    return fields.and("task", null).and("tenant", null).and("at", null).withoutNulls();
  }

  /** A change that the witness recorded, in readable form. */
  private static String change(Row row) {
    StringBuilder text = new StringBuilder("witness");
    for (String name : List.of("state", "version", "attempt", "fence")) {
      String from = row.text("from_" + name);
      String to = row.text("to_" + name);
      if (!Objects.equals(from, to)) {
        text.append("  ").append(name).append(' ').append(from == null ? "" : from + " ");
        text.append("-> ").append(to);
      }
    }
    text.append("  by ").append(row.text("session")).append(' ').append(row.text("pool"));
    if (row.text("from_claim") != null) {
      text.append("  held by ").append(row.text("holder"));
      text.append(" until ").append(row.text("held_until"));
    }
    if (row.fields().is("cancel")) {
      text.append("  cancel requested");
    }
    return text.toString();
  }

  private String of(String task) {
    List<Line> own = new ArrayList<>(lines.getOrDefault(task, List.of()));
    long from = own.stream().mapToLong(Line::wall).min().orElse(0);
    long until =
        own.stream().mapToLong(Line::wall).filter(wall -> wall < Long.MAX_VALUE).max().orElse(0);
    for (Event event : history.events()) {
      boolean isDisturbance = event.what().startsWith("fault-") || event.what().startsWith("node-");
      if (isDisturbance && event.wall() >= from - 5_000_000 && event.wall() <= until) {
        own.add(new Line(event.wall(), "fault", event.what() + " " + event.fields()));
      }
    }
    own.sort(Comparator.comparingLong(Line::wall));
    StringBuilder text = new StringBuilder();
    for (Line line : own) {
      String when =
          line.wall() == Long.MAX_VALUE
              ? "    end"
              : String.format(Locale.ROOT, "%11.6f", (line.wall() - start) / 1e6);
      text.append("%11s  %-9s  %s%n".formatted(when, line.source(), line.what()));
    }
    return text.toString();
  }
}
