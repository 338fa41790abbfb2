package carillon.engine.upkeep;

import carillon.engine.EngineEvent;
import carillon.engine.ReapDecision;
import carillon.model.TaskId;
import carillon.model.cluster.NodeLease;
import carillon.model.task.LostHolder;
import carillon.model.task.TaskState;
import carillon.store.cluster.Nodes;
import carillon.store.db.StoreException;
import carillon.store.queue.HeldClaims;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reclaims the tasks of lost holders. Safe on several nodes at once. */
public final class Reaper {

  private static final Logger log = LoggerFactory.getLogger(Reaper.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final Duration LOST_NODE_RETENTION = Duration.ofMinutes(10);
  private static final int PASSES_PER_CLEANUP = 30;
  private static final int MAX_CLAIMS = 200;

  /** How long other nodes may take to reconnect after an outage of the database. */
  static final Duration RECONNECT_TIMEOUT = Duration.ofSeconds(3);

  private final HeldClaims claims;
  private final Nodes nodes;
  private final Supplier<NodeLease> node;
  private final ReapDecision decision;
  private final Consumer<EngineEvent> events;
  private long passes; // this and the next two: this loop's thread only
  private @Nullable String knownAs;
  private long waitUntil;

  public Reaper(
      HeldClaims claims,
      Nodes nodes,
      Supplier<NodeLease> node,
      ReapDecision decision,
      Consumer<EngineEvent> events) {
    this.claims = claims;
    this.nodes = nodes;
    this.node = node;
    this.decision = decision;
    this.events = events;
  }

  /** One pass. Returns zero if there may be more. */
  public Duration reapOnce() {
    if (checkCutOff()) {
      return INTERVAL;
    }
    boolean isCleanup = passes++ % PASSES_PER_CLEANUP == 0;
    List<HeldClaims.Lost> silent = new ArrayList<>(claims.lapsed(MAX_CLAIMS));
    if (isCleanup) {
      silent.addAll(claims.withoutNode(MAX_CLAIMS));
    }
    int reaped = 0;
    int failed = 0;
    Map<String, Lost> lost = new TreeMap<>();
    for (HeldClaims.Lost claim : silent) {
      try {
        Lost some = reap(claim);
        reaped += some.tasks();
        if (claim.node() != null && some.isOfDeadNode()) {
          lost.merge(claim.node(), some, Lost::plus);
        }
      } catch (RuntimeException e) {
        if (e instanceof StoreException store && store.isStaleTerm()) {
          throw e; // the next leader continues
        }
        failed++; // one that fails must not block the others
        log.warn("cannot reap claim={} error={}", claim.claim(), e.toString());
      }
    }
    if (reaped > 0) {
      log.info("reclaimed tasks={} claims={}", reaped, silent.size());
      lost.forEach(Reaper::logLost);
      int suspects = lost.values().stream().mapToInt(Lost::suspects).sum();
      events.accept(new EngineEvent.Reaped(reaped, suspects));
    }
    if (isCleanup) {
      nodes.forgetLapsed(LOST_NODE_RETENTION);
    }
    // If nothing was reaped, other transactions hold the locks of these tasks: do not retry at
    // once.
    return silent.size() >= MAX_CLAIMS && failed == 0 && reaped > 0 ? Duration.ZERO : INTERVAL;
  }

  /**
   * What was reclaimed.
   *
   * @param suspects tasks that are retried in small groups
   * @param poisoned tasks that are dead because too many nodes died while running them
   */
  private record Lost(int tasks, int suspects, int poisoned, boolean isOfDeadNode) {

    Lost plus(Lost other) {
      return new Lost(
          tasks + other.tasks, suspects + other.suspects, poisoned + other.poisoned, true);
    }
  }

  private Lost reap(HeldClaims.Lost claim) {
    Map<TaskId, HeldClaims.Held> died = new HashMap<>();
    Map<TaskId, TaskState> states =
        claims
            .reap(
                claim,
                (held, silence) -> {
                  if (silence.holder() == LostHolder.Holder.DIED) {
                    died.put(held.id(), held); // again if the transaction is retried
                  }
                  return decision.of(held, silence);
                })
            .states();
    int suspects = 0;
    int poisoned = 0;
    for (Map.Entry<TaskId, TaskState> each : states.entrySet()) {
      HeldClaims.Held held = died.get(each.getKey());
      if (held != null && held.isSent() && each.getValue() == TaskState.PENDING) {
        suspects++;
      } else if (held != null && each.getValue() == TaskState.DEAD && decision.isPoisonNext(held)) {
        poisoned++;
        log.warn("task is poison task={} type={}", held.id(), held.type());
      }
    }
    return new Lost(states.size(), suspects, poisoned, !died.isEmpty());
  }

  private static void logLost(String node, Lost lost) {
    log.info(
        "reclaimed tasks from crashed node node={} tasks={} suspects={} poisoned={}",
        node,
        lost.tasks(),
        lost.suspects(),
        lost.poisoned());
  }

  /**
   * Checks whether this node is cut off from the database or has just reconnected, and remembers
   * when it did. It must not consider other nodes dead then: they reconnect too, one after the
   * other. Call this also while another node leads, because the node that reconnects first may be
   * the next leader.
   */
  boolean checkCutOff() {
    NodeLease lease = node.get();
    long now = System.nanoTime();
    if (!lease.node().equals(knownAs)) {
      waitUntil = knownAs == null ? now : now + RECONNECT_TIMEOUT.toNanos();
      knownAs = lease.node();
    }
    return !lease.isTrusted(now) || now - waitUntil < 0;
  }
}
