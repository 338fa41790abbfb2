package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.Row;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Work progresses under faults, every task ends, and no node exits by itself. */
final class Liveness {

  private static final long WINDOW = 5_000_000;
  private static final long MAX_DRAIN_SECONDS = 60;

  /** Tasks that schedules created this late may be unfinished at the end. */
  private static final long LATE = 6_000_000;

  /** The bound is for this lease; a longer lease extends it. */
  private static final long DEFAULT_LEASE = 3_000_000;

  private static final List<String> TARGETS = List.of("http", "pull", "discard");

  /** Faults during which a starting node works, though slowly. */
  private static final Set<String> HARMLESS = Set.of("held-snapshot", "backend-kill-idle");

  private Liveness() {}

  static List<Violation> liveness(Facts facts) {
    List<Violation> found = new ArrayList<>();
    Long from = facts.phase("liveness");
    Long until = facts.phase("heal");
    if (from != null && until != null) {
      stalls(facts, from, until, found);
    }
    Long drain = facts.phase("drain");
    Long check = facts.phase("check");
    if (drain != null) {
      endedLate(facts, drain, found);
    }
    if (drain != null && check != null) {
      deliveredLate(facts, drain, check, found);
    }
    unended(facts, check == null ? drain : check, found);
    nodes(facts, found);
    return found;
  }

  private static void endedLate(Facts facts, long drain, List<Violation> found) {
    long bound = facts.options().number("drainSeconds", MAX_DRAIN_SECONDS) * 1_000_000;
    for (Row row : facts.tasks().values()) {
      Long finished = row.micros("finished_at");
      if (finished != null && finished > drain + bound) {
        long late = (finished - drain) / 1_000_000;
        found.add(
            Violation.of(Rule.R19, row.need("id"), "ended %d s after the load stopped", late));
      }
    }
  }

  /** All tasks must have ended, except those that schedules created recently or for later. */
  private static void unended(Facts facts, @Nullable Long end, List<Violation> found) {
    for (Row row : facts.tasks().values()) {
      String state = row.need("state");
      Long due = row.micros("due_at");
      boolean mustEnd =
          row.text("schedule") == null || (end != null && due != null && due < end - LATE);
      if (!Loss.ENDED.contains(state) && mustEnd) {
        found.add(Violation.of(Rule.R19, row.need("id"), "still %s after the drain", state));
      }
    }
    for (Event event : facts.history().events()) {
      if (event.is("not-drained")) {
        found.add(
            Violation.of(Rule.R19, null, "unfinished after the drain: " + event.text("tasks")));
      }
    }
  }

  private static void nodes(Facts facts, List<Violation> found) {
    Map<String, Event> starts = new HashMap<>();
    Set<String> ready = new HashSet<>();
    for (Event event : facts.history().events()) {
      String life = event.text("node") + " " + event.text("life");
      switch (event.what()) {
        case "node-start" -> starts.put(life, event);
        case "node-ready" -> ready.add(life);
        case "node-stuck" ->
            found.add(Violation.of(Rule.R19, null, event.need("node") + " did not stop in time"));
        case "node-exit" -> {
          boolean isUnexpected = "false".equals(event.text("expected"));
          if (isUnexpected
              && (ready.contains(life) || !mayFailToStart(facts, starts.get(life), event))) {
            found.add(
                Violation.of(
                    Rule.R19,
                    null,
                    "%s exited by itself with status %s",
                    event.need("node"),
                    event.text("status")));
          }
        }
        default -> {}
      }
    }
  }

  /** A node that finds no database when it starts may report that and exit. */
  private static boolean mayFailToStart(Facts facts, @Nullable Event start, Event exit) {
    long from = start == null ? exit.wall() : start.wall();
    return facts.faults().stream()
        .filter(fault -> !HARMLESS.contains(fault.kind()))
        .filter(fault -> fault.node() == null || fault.node().equals(exit.text("node")))
        .anyMatch(fault -> fault.overlaps(from, exit.wall(), facts.lease()));
  }

  private static void stalls(Facts facts, long from, long until, List<Violation> found) {
    int windows = Math.max((int) ((until - from) / WINDOW), 0);
    Map<String, List<Row>> perTarget = new HashMap<>();
    for (Row row : facts.tasks().values()) {
      String target = facts.target(row);
      if (target != null) {
        perTarget.computeIfAbsent(target, _ -> new ArrayList<>()).add(row);
      }
    }
    for (int i = 0; i < windows; i++) {
      long begin = from + i * WINDOW;
      if (facts.tasks().values().stream().noneMatch(row -> isEndedIn(row, begin))) {
        found.add(stall("task", i));
        continue;
      }
      for (String target : TARGETS) {
        List<Row> rows = perTarget.getOrDefault(target, List.of());
        boolean isWaiting = rows.stream().anyMatch(row -> isWaitingIn(row, begin));
        boolean isRequested = !target.equals("pull") || isRequestedIn(facts, begin);
        if (isWaiting && isRequested && rows.stream().noneMatch(row -> isEndedIn(row, begin))) {
          found.add(stall(target + " task", i));
        }
      }
    }
  }

  private static Violation stall(String what, int window) {
    return Violation.of(
        Rule.R19,
        null,
        "no %s ended from second %d to %d of the liveness phase",
        what,
        window * WINDOW / 1_000_000,
        (window + 1) * WINDOW / 1_000_000);
  }

  private static boolean isEndedIn(Row row, long begin) {
    Long finished = row.micros("finished_at");
    return finished != null && finished >= begin && finished < begin + WINDOW;
  }

  /** Whether the task was due and unfinished during the whole window. */
  private static boolean isWaitingIn(Row row, long begin) {
    Long due = row.micros("due_at");
    Long created = row.micros("created_at");
    Long finished = row.micros("finished_at");
    return due != null
        && due < begin
        && (created == null || created < begin)
        && (finished == null || finished >= begin + WINDOW);
  }

  /** Whether a worker claimed tasks within the window and got a response. */
  private static boolean isRequestedIn(Facts facts, long begin) {
    return facts.ops("work-claim").stream()
        .anyMatch(op -> op.isOk() && op.began() >= begin && op.ended() < begin + WINDOW);
  }

  /**
   * After the cluster has recovered and the backlog is gone, tasks are delivered when they are due.
   */
  private static void deliveredLate(Facts facts, long drain, long check, List<Violation> found) {
    long bound = WINDOW * Math.max(facts.lease(), DEFAULT_LEASE) / DEFAULT_LEASE;
    List<Row> rows = new ArrayList<>();
    long settled = drain + 2 * facts.lease();
    for (Row row : facts.tasks().values()) {
      Long ready = ready(row);
      List<Delivery> sent = facts.deliveries(row.need("id"));
      if (ready == null || !"http".equals(facts.target(row))) {
        continue;
      }
      if (ready >= drain) {
        rows.add(row);
      } else if (!sent.isEmpty()) {
        settled = Math.max(settled, sent.getFirst().began());
      }
    }
    for (Row row : rows) {
      Long ready = ready(row);
      List<Delivery> sent = facts.deliveries(row.need("id"));
      boolean isWaiting =
          sent.isEmpty() || (ready != null && sent.getFirst().began() > ready + bound);
      boolean isFree =
          row.text("concurrency_key") == null && !row.need("state").equals("CANCELLED");
      if (ready != null && ready >= settled && ready + bound <= check && isFree && isWaiting) {
        found.add(
            Violation.of(
                Rule.R19,
                row.need("id"),
                "not delivered within %d ms of its due time after the cluster had recovered",
                bound / 1000));
      }
    }
  }

  /** When the task was both created and due. */
  private static @Nullable Long ready(Row row) {
    Long due = row.micros("due_at");
    Long created = row.micros("created_at");
    return due == null || created == null ? due : Long.valueOf(Math.max(due, created));
  }
}
