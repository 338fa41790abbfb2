package carillon.chaos.rules;

import carillon.chaos.history.Row;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Deliveries after one that the receiver had accepted. Delivery is at least once, so duplicates are
 * allowed, but each must have a cause that the harness created. The report counts them by cause.
 */
public final class Duplicates {

  /** A node's timeout starts a little before the receiver sees the request. */
  private static final long START_DIFFERENCE = 200_000;

  /**
   * Faults that never cause a second delivery: a slower database, a lost idle session, a pause
   * within the lease, an orderly stop.
   */
  private static final Set<String> HARMLESS =
      Set.of("held-snapshot", "backend-kill-idle", "pause-short", "sigterm");

  /** A writer may learn of a lost write up to a lease after these faults. */
  private static final Set<String> DELAYED_EFFECT =
      Set.of(
          "pg-crash",
          "pg-freeze",
          "pg-restart-fast",
          "failover",
          "lock-table",
          "rolling-partition");

  private static final Set<String> PAUSES =
      Set.of("pause-short", "pause-long", "leader-pause", "flap");

  private final Map<String, Integer> explained = new TreeMap<>();
  private final List<Violation> unexplained = new ArrayList<>();

  private Duplicates() {}

  static List<Violation> unexplained(Facts facts) {
    return in(facts).unexplained;
  }

  public static Duplicates in(Facts facts) {
    Duplicates duplicates = new Duplicates();
    facts.deliveries().forEach((task, deliveries) -> duplicates.judge(facts, task, deliveries));
    return duplicates;
  }

  /** Duplicates by cause. */
  public Map<String, Integer> explained() {
    return explained;
  }

  private void judge(Facts facts, String task, List<Delivery> deliveries) {
    Map<Long, @Nullable String> holders = holders(facts, task);
    Delivery before = null;
    String cause = null;
    for (int i = 1; i < deliveries.size(); i++) {
      Delivery again = deliveries.get(i);
      if (deliveries.get(i - 1).isOk()) {
        before = deliveries.get(i - 1);
        cause = cause(facts, task, before, again, holders.get(before.fence()));
      }
      // If that delivery failed, the next ones are its retries and have the same cause.
      if (before == null) {
        continue;
      }
      if (cause == null) {
        unexplained.add(
            Violation.of(
                Rule.R3B,
                task,
                "fence %d was accepted, but fence %d was delivered %d ms later without a known"
                    + " cause",
                before.fence(),
                again.fence(),
                (again.began() - before.ended()) / 1000));
      } else {
        explained.merge(cause, 1, Integer::sum);
      }
    }
  }

  private static @Nullable String cause(
      Facts facts, String task, Delivery before, Delivery again, @Nullable String holder) {
    if (before.ended() - before.began() >= facts.timeout() - START_DIFFERENCE
        || isReadTooLate(facts, before, holder)) {
      return "timeout";
    }
    if (facts.mayBeRedriven(task, before.began(), again.began())) {
      return "redrive";
    }
    FaultPeriod general = null;
    FaultPeriod earlier = null;
    for (FaultPeriod fault : facts.faults()) {
      boolean isOfHolder = fault.hits(holder);
      boolean isOfAll = fault.node() == null;
      if (!mayCauseDuplicates(facts, fault) || !(isOfHolder || isOfAll)) {
        continue;
      }
      long aftermath = isOfHolder || DELAYED_EFFECT.contains(fault.kind()) ? facts.lease() : 0;
      if (!fault.overlaps(before.began(), again.began(), aftermath)) {
        boolean isNear = fault.overlaps(before.began(), again.began(), 2 * facts.lease());
        earlier = isOfHolder && isNear ? fault : earlier;
      } else if (isOfHolder) {
        return fault.kind();
      } else if (general == null) {
        general = fault;
      }
    }
    if (general != null) {
      return general.kind();
    }
    return earlier != null && hasLostLease(facts, task, before.fence()) ? "lease lost" : null;
  }

  /** A SIGTERM is harmless unless the node had to be killed, which its exit status shows. */
  private static boolean mayCauseDuplicates(Facts facts, FaultPeriod fault) {
    boolean isKilled =
        fault.kind().equals("sigterm")
            && facts.history().events().stream()
                .anyMatch(
                    event ->
                        event.is("node-exit")
                            && event.need("node").equals(fault.node())
                            && event.wall() >= fault.from()
                            && event.wall() <= fault.until()
                            && !"0".equals(event.text("status")));
    return isKilled || !HARMLESS.contains(fault.kind());
  }

  /**
   * A node that was paused past the deadline may see the timeout first and the response after it.
   */
  private static boolean isReadTooLate(Facts facts, Delivery before, @Nullable String holder) {
    return facts.faults().stream()
        .anyMatch(
            fault ->
                PAUSES.contains(fault.kind())
                    && fault.hits(holder)
                    && fault.overlaps(before.began() - facts.timeout(), before.ended(), 0)
                    && fault.until() >= before.began() + facts.timeout() - 2 * START_DIFFERENCE);
  }

  /** Whether the holder's lease was over when the reaper ended its claim. */
  private static boolean hasLostLease(Facts facts, String task, long fence) {
    for (Row change : facts.changes(task)) {
      Long until = change.micros("held_until");
      if ("RUNNING".equals(change.text("from_state"))
          && !"RUNNING".equals(change.text("to_state"))
          && change.number("from_fence") == fence) {
        return until != null && until <= Facts.at(change);
      }
    }
    return false;
  }

  private static Map<Long, @Nullable String> holders(Facts facts, String task) {
    Map<Long, @Nullable String> holders = new HashMap<>();
    for (Row change : facts.changes(task)) {
      if ("RUNNING".equals(change.text("from_state"))) {
        holders.put(change.number("from_fence"), change.text("holder"));
      }
    }
    return holders;
  }
}
