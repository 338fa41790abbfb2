package carillon.chaos.rules;

import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Every submitted task exists, once, and no other task does. */
final class Loss {

  static final Set<String> ENDED = Set.of("COMPLETED", "DEAD", "CANCELLED", "EXPIRED");

  private Loss() {}

  static List<Violation> lost(Facts facts) {
    List<Violation> found = new ArrayList<>();
    Map<String, List<Boolean>> perTenant = new LinkedHashMap<>();
    facts
        .acknowledged()
        .forEach(
            (id, submit) -> {
              Row row = facts.task(id);
              perTenant
                  .computeIfAbsent(submit.need("tenant"), _ -> new ArrayList<>())
                  .add(row == null);
              if (row == null) {
                found.add(Violation.of(Rule.R1, id, "acknowledged, but missing from the database"));
              } else if (isEndedUnseen(facts, row)) {
                found.add(
                    Violation.of(
                        Rule.R1, id, "%s, but the witness saw no such change", row.need("state")));
              }
            });
    for (Row fire : facts.history().rows(Table.FIRE)) {
      String task = fire.text("task");
      if (task != null && facts.task(task) == null) {
        found.add(
            Violation.of(Rule.R1, task, "the task of the fire at %s is missing", fire.text("at")));
      }
    }
    perTenant.forEach((tenant, gone) -> shape(tenant, gone).ifPresent(found::add));
    return found;
  }

  /** No task ends without a write that the witness saw. */
  private static boolean isEndedUnseen(Facts facts, Row row) {
    String state = row.need("state");
    List<Row> changes = facts.changes(row.need("id"));
    return ENDED.contains(state)
        && !changes.isEmpty()
        && changes.stream().noneMatch(change -> state.equals(change.text("to_state")));
  }

  /** Where the lost tasks are in the order of submits: a lost tail has another cause than a gap. */
  private static Optional<Violation> shape(String tenant, List<Boolean> gone) {
    int lost = (int) gone.stream().filter(each -> each).count();
    if (lost == 0) {
      return Optional.empty();
    }
    int prefix = 0;
    while (prefix < gone.size() && gone.get(prefix)) {
      prefix++;
    }
    int tail = 0;
    while (tail < gone.size() - prefix && gone.get(gone.size() - 1 - tail)) {
      tail++;
    }
    return Optional.of(
        Violation.of(
            Rule.R1,
            null,
            "tenant %s lost %d of %d tasks: %d at the beginning, %d in the middle, %d at the end",
            tenant,
            lost,
            gone.size(),
            prefix,
            lost - prefix - tail,
            tail));
  }

  static List<Violation> effectLost(Facts facts) {
    List<Violation> found = new ArrayList<>();
    for (Row row : facts.tasks().values()) {
      String id = row.need("id");
      if (row.need("state").equals("COMPLETED") && !isAccepted(facts, row, id)) {
        found.add(Violation.of(Rule.R1B, id, "COMPLETED, but no receiver or worker accepted it"));
      }
    }
    return found;
  }

  private static boolean isAccepted(Facts facts, Row row, String id) {
    String target = facts.target(row);
    if (target == null) {
      return true; // created by the program itself, such as a callback
    }
    return switch (target) {
      case "http" -> facts.deliveries(id).stream().anyMatch(Delivery::isOk);
      case "pull" ->
          facts.opsOf(id, "work-report").stream()
              .anyMatch(op -> mayBeAccepted(op) && op.number("fence", -1) == row.number("fence"));
      default -> true;
    };
  }

  private static boolean mayBeAccepted(Op report) {
    boolean isRefused = report.isOk() && !"accepted".equals(report.text("result"));
    return "completed".equals(report.text("outcome")) && report.mayHaveHappened() && !isRefused;
  }

  static List<Violation> unexpected(Facts facts) {
    List<Violation> found = new ArrayList<>();
    facts
        .deliveries()
        .forEach(
            (task, deliveries) -> {
              String n = deliveries.getFirst().start().text("n");
              if (!isSubmitted(facts, task, n)) {
                found.add(Violation.of(Rule.R2, task, "delivered, but never submitted (n %s)", n));
              }
            });
    facts
        .workerClaims()
        .forEach(
            (task, given) -> {
              String n = given.getFirst().task().text("n");
              if (!isSubmitted(facts, task, n)) {
                found.add(Violation.of(Rule.R2, task, "claimed by a worker, but never submitted"));
              }
            });
    return found;
  }

  private static boolean isSubmitted(Facts facts, String task, @Nullable String n) {
    if (facts.submitOf(task) != null) {
      return true;
    }
    Row row = facts.task(task);
    boolean isOfSchedule = row != null && row.text("schedule") != null;
    return isOfSchedule || facts.submitsOfNumber(n).stream().anyMatch(Op::mayHaveHappened);
  }

  static List<Violation> duplicateSubmit(Facts facts) {
    List<Violation> found = new ArrayList<>();
    Map<String, String> byKey = new HashMap<>();
    for (Op submit : facts.ops("submit")) {
      String id = submit.text("id");
      if (submit.isOk() && id != null) {
        String key = submit.need("tenant") + " " + submit.need("key");
        String first = byKey.putIfAbsent(key, id);
        if (first != null && !first.equals(id)) {
          found.add(Violation.of(Rule.R3, id, "key %s had already created task %s", key, first));
        }
      }
    }
    Map<String, String> byNumber = new HashMap<>();
    for (Row row : facts.tasks().values()) {
      String n = row.text("n");
      if (n != null && row.text("schedule") == null) {
        String first = byNumber.putIfAbsent(facts.tenantOf(row) + " " + n, row.need("id"));
        if (first != null) {
          found.add(Violation.of(Rule.R3, row.need("id"), "n %s is also in task %s", n, first));
        }
      }
    }
    return found;
  }
}
