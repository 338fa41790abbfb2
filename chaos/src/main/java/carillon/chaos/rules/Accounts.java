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

/** Sums that must come out even when all is quiet. */
final class Accounts {

  private Accounts() {}

  /**
   * For each tenant: no fewer tasks than were acknowledged, none but those that may have been
   * accepted, each in one known state, and each seen when it was made.
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
        found.add(Violation.of(Rule.R15, row.need("id"), "is " + state));
      }
      Op origin = facts.origin(row);
      if (isUnseen(facts, row)) {
        found.add(Violation.of(Rule.R15, row.need("id"), "is there, and nobody saw it being made"));
      }
      if (origin != null) {
        stored.merge(facts.tenantOf(row), 1, Integer::sum);
        if (row.text("schedule") == null && isRefused(facts, row)) {
          found.add(Violation.of(Rule.R15, row.need("id"), "is there, and was refused"));
        }
      } else if (row.text("n") != null && row.text("schedule") == null) {
        found.add(Violation.of(Rule.R15, row.need("id"), "is there, and nobody submitted it"));
      }
    }
    acknowledged.forEach(
        (tenant, number) -> {
          int there = stored.getOrDefault(tenant, 0);
          if (there < number) {
            found.add(
                Violation.of(
                    Rule.R15, null, "%s has %d tasks of %d acknowledged", tenant, there, number));
          }
        });
    return found;
  }

  /** Where a node ran there was a witness; without it half of the rules are blind. */
  private static boolean isUnseen(Facts facts, Row row) {
    return !facts.labels().isEmpty()
        && facts.changes(row.need("id")).stream()
            .noneMatch(change -> change.text("from_state") == null);
  }

  private static boolean isRefused(Facts facts, Row row) {
    return facts.submitOf(row.need("id")) == null
        && facts.submitsOfNumber(row.text("n")).stream().noneMatch(Op::mayHaveHappened);
  }

  /** Every action that was answered has its record, and no record is without an action. */
  static List<Violation> audit(Facts facts) {
    List<Violation> found = new ArrayList<>();
    Map<String, Integer> records = new HashMap<>();
    for (Row row : facts.history().rows(Table.AUDIT)) {
      records.merge(row.need("action") + " " + row.need("subject"), 1, Integer::sum);
    }
    Map<String, Integer> done = new HashMap<>();
    Map<String, Integer> maybe = new HashMap<>();
    for (String action : List.of("cancel", "redrive")) {
      count(facts.ops(action), "task." + action, Op::isOk, done);
      count(facts.ops(action), "task." + action, Op::mayHaveHappened, maybe);
    }
    Set<String> all = new HashSet<>(records.keySet());
    all.addAll(done.keySet());
    for (String what : all) {
      int recorded = records.getOrDefault(what, 0);
      int answered = done.getOrDefault(what, 0);
      // A second cancel of the same task changes nothing, and need not be recorded.
      int least = what.startsWith("task.cancel ") ? Math.min(1, answered) : answered;
      boolean isOfTask = what.startsWith("task.cancel ") || what.startsWith("task.redrive ");
      boolean isTooMany = isOfTask && recorded > maybe.getOrDefault(what, 0);
      if (recorded < least || isTooMany) {
        found.add(
            Violation.of(
                Rule.R16,
                what.substring(what.indexOf(' ') + 1),
                "%d records of %s, %d answered and %d tried",
                recorded,
                what.substring(0, what.indexOf(' ')),
                answered,
                maybe.getOrDefault(what, 0)));
      }
    }
    return found;
  }

  /** The same request sent again under its idempotency key is one. */
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
        found.add(Violation.of(Rule.R17, task, "has a dead letter and is " + state));
      }
    }
    for (Row row : facts.tasks().values()) {
      String task = row.need("id");
      if (row.need("state").equals("DEAD")) {
        if (!letters.contains(task)) {
          found.add(Violation.of(Rule.R17, task, "is DEAD without a dead letter"));
        }
        attemptsOf(facts, row, found);
      }
      redrivenOnce(facts, task, found);
    }
    return found;
  }

  /** All attempts but the last, which stands on the task's own row. */
  private static void attemptsOf(Facts facts, Row row, List<Violation> found) {
    String task = row.need("id");
    Set<Long> kept = new HashSet<>();
    facts.attempts(task).forEach(attempt -> kept.add(attempt.number("fence")));
    for (Delivery each : facts.deliveries(task)) {
      long fence = each.fence();
      if (fence != row.number("fence") && !kept.contains(fence)) {
        found.add(Violation.of(Rule.R17, task, "its attempt with fence %d is not kept", fence));
      }
    }
  }

  private static void redrivenOnce(Facts facts, String task, List<Violation> found) {
    List<Op> redrives = facts.opsOf(task, "redrive");
    long back =
        facts.changes(task).stream()
            .filter(change -> "DEAD".equals(change.text("from_state")))
            .filter(change -> "PENDING".equals(change.text("to_state")))
            .count();
    long done = redrives.stream().filter(Op::isOk).map(Op::request).distinct().count();
    long maybe = redrives.stream().filter(Op::mayHaveHappened).map(Op::request).distinct().count();
    boolean isWatched = !facts.changes(task).isEmpty();
    if (isWatched && (back < done || back > maybe)) {
      found.add(
          Violation.of(
              Rule.R17,
              task,
              "came back %d times, with %d redrives answered and %d tried",
              back,
              done,
              maybe));
    }
  }
}
