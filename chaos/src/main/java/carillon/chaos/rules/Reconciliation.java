package carillon.chaos.rules;

import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/** Reconciles tasks, audit records, dead letters and attempts with what clients did. */
final class Reconciliation {

  /** The operations on tasks that are audited. */
  private static final List<String> ACTIONS = List.of("cancel", "redrive", "edit");

  private Reconciliation() {}

  /**
   * Each tenant has at least its acknowledged tasks, and no task that nobody submitted. Every task
   * has a known state, and the witness saw its insert.
   */
  static List<Violation> conservation(Facts facts) {
    List<Violation> found = new ArrayList<>();
    Map<String, Integer> acknowledged = new HashMap<>();
    facts
        .acknowledged()
        .forEach((_, submit) -> acknowledged.merge(submit.need("tenant"), 1, Integer::sum));
    Map<String, Integer> stored = new HashMap<>();
    for (Row row : facts.tasks().values()) {
      String state = row.need("state");
      boolean isKnown = Loss.ENDED.contains(state) || Set.of("PENDING", "RUNNING").contains(state);
      if (!isKnown) {
        found.add(Violation.of(Rule.R15, row.need("id"), "has the unknown state " + state));
      }
      Op origin = facts.origin(row);
      if (isUnseen(facts, row)) {
        found.add(
            Violation.of(
                Rule.R15, row.need("id"), "exists, but the witness did not see its insert"));
      }
      if (origin != null) {
        stored.merge(facts.tenantOf(row), 1, Integer::sum);
        if (row.text("schedule") == null && isRefused(facts, row)) {
          found.add(Violation.of(Rule.R15, row.need("id"), "exists, but its submit was rejected"));
        }
      } else if (row.text("n") != null && row.text("schedule") == null) {
        found.add(Violation.of(Rule.R15, row.need("id"), "exists, but nobody submitted it"));
      }
    }
    acknowledged.forEach(
        (tenant, number) -> {
          int there = stored.getOrDefault(tenant, 0);
          if (there < number) {
            found.add(
                Violation.of(
                    Rule.R15,
                    null,
                    "tenant %s has %d tasks, but %d were acknowledged",
                    tenant,
                    there,
                    number));
          }
        });
    return found;
  }

  /** The witness exists only in runs with nodes. */
  private static boolean isUnseen(Facts facts, Row row) {
    return !facts.labels().isEmpty()
        && facts.changes(row.need("id")).stream()
            .noneMatch(change -> change.text("from_state") == null);
  }

  private static boolean isRefused(Facts facts, Row row) {
    return facts.submitOf(row.need("id")) == null
        && facts.submitsOfNumber(row.text("n")).stream().noneMatch(Op::mayHaveHappened);
  }

  /** Every acknowledged action has an audit record, and every record has an action. */
  static List<Violation> audit(Facts facts) {
    List<Violation> found = new ArrayList<>();
    Map<String, Integer> records = new HashMap<>();
    for (Row row : facts.history().rows(Table.AUDIT)) {
      records.merge(row.need("action") + " " + row.need("subject"), 1, Integer::sum);
    }
    Map<String, Integer> done = new HashMap<>();
    Map<String, Integer> possible = new HashMap<>();
    for (String action : ACTIONS) {
      count(facts.ops(action), "task." + action, Op::isOk, done);
      count(facts.ops(action), "task." + action, Op::mayHaveHappened, possible);
    }
    Set<String> all = new HashSet<>(records.keySet());
    all.addAll(done.keySet());
    for (String what : all) {
      int recorded = records.getOrDefault(what, 0);
      int answered = done.getOrDefault(what, 0);
      // A repeated cancel of the same task has no effect, and may not be recorded.
      int minimum = what.startsWith("task.cancel ") ? Math.min(1, answered) : answered;
      boolean isTaskAction =
          ACTIONS.stream().anyMatch(action -> what.startsWith("task." + action + " "));
      boolean isTooMany = isTaskAction && recorded > possible.getOrDefault(what, 0);
      if (recorded < minimum || isTooMany) {
        found.add(
            Violation.of(
                Rule.R16,
                what.substring(what.indexOf(' ') + 1),
                "%d audit records of %s, but %d were acknowledged and %d attempted",
                recorded,
                what.substring(0, what.indexOf(' ')),
                answered,
                possible.getOrDefault(what, 0)));
      }
    }
    return found;
  }

  /** Repetitions of a request with the same idempotency key count once. */
  private static void count(
      List<Op> ops, String action, Predicate<Op> counts, Map<String, Integer> sums) {
    Set<String> seen = new HashSet<>();
    for (Op op : ops) {
      if (counts.test(op) && seen.add(op.request())) {
        sums.merge(action + " " + op.need("id"), 1, Integer::sum);
      }
    }
  }

  static List<Violation> deadLetters(Facts facts) {
    List<Violation> found = new ArrayList<>();
    Set<String> letters = new HashSet<>();
    for (Row letter : facts.history().rows(Table.DEAD_LETTER)) {
      String task = letter.need("task");
      letters.add(task);
      Row row = facts.task(task);
      if (row == null || !row.need("state").equals("DEAD")) {
        String state = row == null ? "gone" : row.need("state");
        found.add(Violation.of(Rule.R17, task, "has a dead letter, but is " + state));
      }
    }
    for (Row row : facts.tasks().values()) {
      String task = row.need("id");
      if (row.need("state").equals("DEAD")) {
        if (!letters.contains(task)) {
          found.add(Violation.of(Rule.R17, task, "is DEAD, but has no dead letter"));
        }
        attemptsOf(facts, row, found);
      }
      redrives(facts, task, found);
    }
    return found;
  }

  /** Every attempt of a dead task is kept; the last one is part of the task's row. */
  private static void attemptsOf(Facts facts, Row row, List<Violation> found) {
    String task = row.need("id");
    Set<Long> kept = new HashSet<>();
    facts.attempts(task).forEach(attempt -> kept.add(attempt.number("fence")));
    for (Delivery each : facts.deliveries(task)) {
      long fence = each.fence();
      if (fence != row.number("fence") && !kept.contains(fence)) {
        found.add(
            Violation.of(
                Rule.R17, task, "the attempt with fence %d is missing from its history", fence));
      }
    }
  }

  private static void redrives(Facts facts, String task, List<Violation> found) {
    List<Op> redrives = facts.opsOf(task, "redrive");
    long redriven =
        facts.changes(task).stream()
            .filter(change -> "DEAD".equals(change.text("from_state")))
            .filter(change -> "PENDING".equals(change.text("to_state")))
            .count();
    long done = redrives.stream().filter(Op::isOk).map(Op::request).distinct().count();
    long possible =
        redrives.stream().filter(Op::mayHaveHappened).map(Op::request).distinct().count();
    boolean isWatched = !facts.changes(task).isEmpty();
    if (isWatched && (redriven < done || redriven > possible)) {
      found.add(
          Violation.of(
              Rule.R17,
              task,
              "was redriven %d times, but %d redrives were acknowledged and %d attempted",
              redriven,
              done,
              possible));
    }
  }
}
