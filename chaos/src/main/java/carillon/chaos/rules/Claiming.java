package carillon.chaos.rules;

import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Rules about claims: one holder at a time, writes only by the holder, and no more attempts or
 * tasks than allowed.
 */
final class Claiming {

  private Claiming() {}

  static List<Violation> doubleClaim(Facts facts) {
    List<Violation> found = new ArrayList<>();
    facts.changes().forEach((task, changes) -> found.addAll(doubleClaim(facts, task, changes)));
    facts
        .deliveries()
        .forEach(
            (task, deliveries) -> {
              Set<Long> fences = new HashSet<>();
              for (Delivery each : deliveries) {
                if (!fences.add(each.fence())) {
                  found.add(
                      Violation.of(Rule.R4, task, "fence %d was delivered twice", each.fence()));
                }
              }
            });
    facts
        .workerClaims()
        .forEach(
            (task, given) -> {
              Set<Long> fences = new HashSet<>();
              for (WorkerClaim each : given) {
                if (!fences.add(each.fence())) {
                  found.add(
                      Violation.of(
                          Rule.R4, task, "fence %d was returned to workers twice", each.fence()));
                }
              }
            });
    return found;
  }

  private static List<Violation> doubleClaim(Facts facts, String task, List<Row> changes) {
    List<Violation> found = new ArrayList<>();
    Set<String> claims = new HashSet<>();
    for (Row change : changes) {
      String from = change.text("from_state");
      boolean isClaim = change.text("to_claim") != null && !isSameClaim(change);
      if (isClaim && "RUNNING".equals(from)) {
        found.add(
            Violation.of(
                Rule.R4,
                task,
                "claimed with fence %s while %s held fence %s",
                change.text("to_fence"),
                change.text("holder"),
                change.text("from_fence")));
      }
      if (isClaim && !claims.add(change.need("to_fence"))) {
        found.add(
            Violation.of(Rule.R4, task, "fence %s was claimed twice", change.text("to_fence")));
      }
      if (isReclaimedEarly(facts, task, change)) {
        found.add(
            Violation.of(
                Rule.R4,
                task,
                "fence %s was reclaimed from %s %d ms before its lease expired",
                change.text("from_fence"),
                change.text("holder"),
                (required(change, "held_until") - Facts.at(change)) / 1000));
      } else if (isReclaimedFromUnknown(facts, task, change)) {
        found.add(
            Violation.of(
                Rule.R4,
                task,
                "fence %s was reclaimed from %s, whose node row was missing",
                change.text("from_fence"),
                change.text("holder")));
      }
    }
    return found;
  }

  private static boolean isSameClaim(Row change) {
    return change.need("to_claim").equals(change.text("from_claim"));
  }

  private static long required(Row row, String name) {
    Long micros = row.micros(name);
    return micros == null ? Long.MIN_VALUE : micros;
  }

  /**
   * A node may release its own claim early if it never learned of it; then nothing was delivered. A
   * task that was delivered may be reclaimed only after the lease.
   */
  private static boolean isReclaimedEarly(Facts facts, String task, Row change) {
    return isEnd(change)
        && required(change, "held_until") > Facts.at(change)
        && isSentAndReaped(facts, task, change);
  }

  /** The row of a node is deleted only when it holds nothing any more. */
  private static boolean isReclaimedFromUnknown(Facts facts, String task, Row change) {
    return isEnd(change)
        && change.micros("held_until") == null
        && change.text("holder") != null
        && !facts.history().rows(Table.NODE).isEmpty()
        && isSentAndReaped(facts, task, change);
  }

  private static boolean isEnd(Row change) {
    return "RUNNING".equals(change.text("from_state"))
        && !"RUNNING".equals(change.text("to_state"));
  }

  private static boolean isSentAndReaped(Facts facts, String task, Row change) {
    long fence = change.number("from_fence");
    boolean isReaped =
        facts.transitions(task).stream()
            .anyMatch(
                row ->
                    row.number("fence") == fence
                        && "RUNNING".equals(row.text("from_state"))
                        && "reaper".equals(row.text("who")));
    return isReaped
        && (facts.deliveries(task).stream().anyMatch(each -> each.fence() == fence)
            || facts.workerClaims(task).stream().anyMatch(each -> each.fence() == fence));
  }

  static List<Violation> zombie(Facts facts) {
    List<Violation> found = new ArrayList<>();
    facts.changes().forEach((task, changes) -> changes.forEach(c -> decreased(task, c, found)));
    facts
        .changes()
        .forEach((task, changes) -> changes.forEach(c -> endedByAnother(facts, task, c, found)));
    for (Row row : facts.tasks().values()) {
      if (row.need("state").equals("COMPLETED") && "http".equals(facts.target(row))) {
        completedByAnother(facts, row, found);
      }
    }
    for (Op report : facts.ops("work-report")) {
      if (report.isOk() && "accepted".equals(report.text("result"))) {
        acceptedLate(facts, report, found);
      }
    }
    return found;
  }

  private static void decreased(String task, Row change, List<Violation> found) {
    for (String name : List.of("version", "fence")) {
      String from = change.text("from_" + name);
      String to = change.text("to_" + name);
      if (from != null && to != null && Long.parseLong(to) < Long.parseLong(from)) {
        found.add(Violation.of(Rule.R6, task, "its %s decreased from %s to %s", name, from, to));
      }
    }
    String from = change.text("from_state");
    String to = change.text("to_state");
    boolean isResult = "COMPLETED".equals(to) || "DEAD".equals(to);
    boolean isUnclaimed = change.text("to_claim") == null && isResult;
    if (isUnclaimed && from != null && !from.equals("RUNNING") && !from.equals(to)) {
      found.add(Violation.of(Rule.R6, task, "became %s from %s, without a claim", to, from));
    }
  }

  /** While a node's lease lasts, no other node ends its tasks. */
  private static void endedByAnother(Facts facts, String task, Row change, List<Violation> found) {
    String session = change.text("session");
    String holder = change.text("holder");
    Row row = facts.task(task);
    if (!isEnd(change)
        || session == null
        || holder == null
        || !facts.labels().contains(session) // the session is not of a node
        || facts.labels().stream().noneMatch(label -> Facts.isOf(holder, label)) // a worker
        || (row != null && "pull".equals(facts.target(row)))) {
      return; // a worker may report to any node
    }
    if (!Facts.isOf(holder, session) && required(change, "held_until") > Facts.at(change)) {
      found.add(
          Violation.of(
              Rule.R6,
              task,
              "%s ended fence %s as %s, but %s held it for another %d ms",
              session,
              change.text("from_fence"),
              change.text("to_state"),
              holder,
              (required(change, "held_until") - Facts.at(change)) / 1000));
    }
  }

  /** The stored result must belong to the attempt that the row names. */
  private static void completedByAnother(Facts facts, Row row, List<Violation> found) {
    String task = row.need("id");
    long fence = row.number("fence");
    Long finished = row.micros("finished_at");
    List<Delivery> own =
        facts.deliveries(task).stream().filter(each -> each.fence() == fence).toList();
    boolean isOk = own.stream().anyMatch(Delivery::isOk);
    boolean isAnyOk = facts.deliveries(task).stream().anyMatch(Delivery::isOk);
    if (!isOk && isAnyOk) {
      found.add(
          Violation.of(
              Rule.R6, task, "completed with fence %d, which no receiver accepted", fence));
    } else if (isOk && finished != null && own.getFirst().began() > finished) {
      found.add(Violation.of(Rule.R6, task, "completed before fence %d was delivered", fence));
    } else if (isOk && finished != null && isBeforeAnswer(own, finished)) {
      found.add(
          Violation.of(Rule.R6, task, "completed before the receiver accepted fence %d", fence));
    }
  }

  private static boolean isBeforeAnswer(List<Delivery> own, long finished) {
    return own.stream().filter(Delivery::isOk).allMatch(each -> finished < each.answered());
  }

  /** An accepted report must have had the token of the current claim when it was written. */
  private static void acceptedLate(Facts facts, Op report, List<Violation> found) {
    String task = report.need("id");
    long fence = report.number("fence", -1);
    List<Row> changes = facts.changes(task);
    boolean isEnded =
        changes.isEmpty()
            || changes.stream()
                .anyMatch(
                    change ->
                        "RUNNING".equals(change.text("from_state"))
                            && !"RUNNING".equals(change.text("to_state"))
                            && change.number("from_fence") == fence
                            && Facts.at(change) >= report.began()
                            && Facts.at(change) <= report.ended());
    if (!isEnded) {
      found.add(
          Violation.of(
              Rule.R6,
              task,
              "a report for fence %d was accepted after that claim had ended",
              fence));
    }
  }

  static List<Violation> overrun(Facts facts) {
    List<Violation> found = new ArrayList<>();
    facts
        .changes()
        .forEach(
            (task, changes) -> {
              Row row = facts.task(task);
              Long max = row == null ? null : facts.requestedAttempts(row);
              for (Row change : changes) {
                boolean isClaim =
                    "PENDING".equals(change.text("from_state"))
                        && "RUNNING".equals(change.text("to_state"));
                if (isClaim && max != null && change.number("to_attempt") > max) {
                  found.add(
                      Violation.of(
                          Rule.R7,
                          task,
                          "claimed for attempt %s, but %d attempts are allowed",
                          change.text("to_attempt"),
                          max));
                }
                if (isClaim && change.number("to_attempt") != change.number("from_attempt") + 1) {
                  found.add(
                      Violation.of(
                          Rule.R7,
                          task,
                          "claimed with fence %s without counting the attempt",
                          change.text("to_fence")));
                }
                uncounted(facts, task, change, found);
              }
            });
    facts
        .deliveries()
        .forEach(
            (task, all) ->
                all.forEach(
                    each ->
                        misnumbered(
                            facts, task, each.fence(), each.start().text("attempt"), found)));
    facts
        .workerClaims()
        .forEach(
            (task, all) ->
                all.forEach(
                    each ->
                        misnumbered(
                            facts, task, each.fence(), each.task().text("attempt"), found)));
    for (Row row : facts.tasks().values()) {
      tooMany(facts, row, found);
    }
    return found;
  }

  /**
   * The end of an attempt counts it, unless it was released. The row of the task is not written
   * before, so that an end could also forget it.
   */
  private static void uncounted(Facts facts, String task, Row change, List<Violation> found) {
    if (!isEnd(change) || change.text("to_attempt") == null) {
      return;
    }
    long fence = change.number("from_fence");
    long counted = change.number("to_attempt") - change.number("from_attempt");
    if (counted != 0 && !(counted == -1 && mayBeReleased(facts, task, change, fence))) {
      found.add(
          Violation.of(
              Rule.R7,
              task,
              "fence %d ended attempt %s, but %s attempts were counted then",
              fence,
              change.text("from_attempt"),
              change.text("to_attempt")));
    }
  }

  /** A released attempt is not in the history if a cancel was requested. */
  private static boolean mayBeReleased(Facts facts, String task, Row end, long fence) {
    return "CANCELLED".equals(end.text("to_state"))
        || facts.attempts(task).stream()
            .anyMatch(
                row -> row.number("fence") == fence && row.need("outcome").equals("RELEASED"));
  }

  /** The number of an attempt that is sent is the one that its claim counted. */
  private static void misnumbered(
      Facts facts, String task, long fence, @Nullable String sent, List<Violation> found) {
    Row claim = facts.claim(task, fence);
    if (claim != null && sent != null && !sent.equals(claim.text("to_attempt"))) {
      found.add(
          Violation.of(
              Rule.R7,
              task,
              "fence %d was sent as attempt %s, but is attempt %s",
              fence,
              sent,
              claim.text("to_attempt")));
    }
  }

  private static void tooMany(Facts facts, Row row, List<Violation> found) {
    String task = row.need("id");
    Set<Long> released = new HashSet<>();
    for (Row attempt : facts.attempts(task)) {
      if (attempt.need("outcome").equals("RELEASED")) {
        released.add(attempt.number("fence"));
      }
    }
    Set<Long> sent = new HashSet<>();
    facts.deliveries(task).forEach(each -> sent.add(each.fence()));
    facts.workerClaims(task).forEach(each -> sent.add(each.fence()));
    for (long fence : sent) {
      if (fence > row.number("fence")) {
        found.add(
            Violation.of(Rule.R7, task, "fence %d was delivered, but is not recorded", fence));
      }
    }
    sent.removeAll(released);
    long rounds = 1 + facts.opsOf(task, "redrive").stream().filter(Op::mayHaveHappened).count();
    long max = facts.maxAttempts(row) * rounds;
    if (sent.size() > max) {
      found.add(Violation.of(Rule.R7, task, "%d attempts, but %d are allowed", sent.size(), max));
    }
  }

  static List<Violation> overClaim(Facts facts) {
    List<Violation> found = new ArrayList<>();
    for (Op claim : facts.ops("work-claim")) {
      int given = claim.isOk() ? Facts.given(claim).size() : 0;
      long max = claim.number("max", Long.MAX_VALUE);
      if (given > max) {
        found.add(
            Violation.of(
                Rule.R8B,
                Facts.given(claim).getFirst().need("id"),
                "a claim returned %d tasks, but %d were requested",
                given,
                max));
      }
    }
    return found;
  }

  /** At most one task of a concurrency key is RUNNING. */
  static List<Violation> limits(Facts facts) {
    Map<String, List<Row>> perKey = new HashMap<>();
    for (Row row : facts.tasks().values()) {
      String key = row.text("concurrency_key");
      if (key != null) {
        String name = facts.tenantOf(row) + " " + row.need("type") + " " + key;
        perKey.computeIfAbsent(name, _ -> new ArrayList<>()).addAll(facts.changes(row.need("id")));
      }
    }
    List<Violation> found = new ArrayList<>();
    perKey.forEach(
        (key, changes) -> {
          changes.sort(Comparator.comparingLong(row -> row.number("seq")));
          Set<String> running = new HashSet<>();
          for (Row change : changes) {
            String task = change.need("task");
            if (!"RUNNING".equals(change.text("to_state"))) {
              running.remove(task);
            } else if (running.add(task) && running.size() > 1) {
              found.add(
                  Violation.of(
                      Rule.R18,
                      task,
                      "ran at the same time as another task with concurrency key %s",
                      key));
            }
          }
        });
    return found;
  }
}
