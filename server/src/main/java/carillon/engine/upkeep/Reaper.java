package carillon.engine.upkeep;

import carillon.engine.EngineEvent;
import carillon.engine.ReapDecision;
import carillon.model.TaskId;
import carillon.model.cluster.NodeLease;
import carillon.model.task.LostHolder;
import carillon.model.task.TaskState;
import carillon.store.cluster.Nodes;
import carillon.store.db.StoreException;
import carillon.store.queue.Claims;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Takes back what silent holders have. Harmless on several nodes at once. */
public final class Reaper {

  private static final Logger log = LoggerFactory.getLogger(Reaper.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final Duration NODE_SHOWN_FOR = Duration.ofMinutes(10);
  private static final int PASSES_PER_FORGETTING = 30;
  private static final int MAX_CLAIMS = 200;

  /** How long others may take to come back after the database was away from all of us. */
  static final Duration PATIENCE = Duration.ofSeconds(3);

  private final Claims claims;
  private final Nodes nodes;
  private final Supplier<NodeLease> node;
  private final ReapDecision verdict;
  private final Consumer<EngineEvent> events;
  private long passes; // these three of this loop's thread only
  private @Nullable String knownAs;
  private long patientUntil;

  public Reaper(
      Claims claims,
      Nodes nodes,
      Supplier<NodeLease> node,
      ReapDecision verdict,
      Consumer<EngineEvent> events) {
    this.claims = claims;
    this.nodes = nodes;
    this.node = node;
    this.verdict = verdict;
    this.events = events;
  }

  /** One pass. Returns zero if there was more than it took on. */
  public Duration reapOnce() {
    if (isCutOff()) {
      return INTERVAL;
    }
    List<Claims.Silent> silent = claims.lapsed(MAX_CLAIMS);
    int reaped = 0;
    int failed = 0;
    Map<String, Lost> lost = new TreeMap<>();
    for (Claims.Silent claim : silent) {
      try {
        Lost some = reap(claim);
        reaped += some.tasks();
        if (claim.node() != null && some.isOfDeadNode()) {
          lost.merge(claim.node(), some, Lost::plus);
        }
      } catch (RuntimeException e) {
        if (e instanceof StoreException store && store.isStaleTerm()) {
          throw e; // it is another's turn
        }
        failed++; // one that cannot be reaped must not keep the others
        log.warn("cannot reap claim={} error={}", claim.claim(), e.toString());
      }
    }
    if (reaped > 0) {
      log.info("took back tasks={} claims={}", reaped, silent.size());
      lost.forEach(Reaper::say);
      int suspects = lost.values().stream().mapToInt(Lost::suspects).sum();
      events.accept(new EngineEvent.Reaped(reaped, suspects));
    }
    if (passes++ % PASSES_PER_FORGETTING == 0) {
      nodes.forgetLapsed(NODE_SHOWN_FOR);
    }
    // Nothing reaped: their tasks are locked by others, who need time rather than another look.
    return silent.size() >= MAX_CLAIMS && failed == 0 && reaped > 0 ? Duration.ZERO : INTERVAL;
  }

  /**
   * What was taken back.
   *
   * @param suspects those that are tried again in small groups
   * @param poisoned those that are dead, because too many nodes died of them
   */
  private record Lost(int tasks, int suspects, int poisoned, boolean isOfDeadNode) {

    Lost plus(Lost other) {
      return new Lost(
          tasks + other.tasks, suspects + other.suspects, poisoned + other.poisoned, true);
    }
  }

  private Lost reap(Claims.Silent claim) {
    Map<TaskId, Claims.Held> died = new HashMap<>();
    Map<TaskId, TaskState> states =
        claims
            .reap(
                claim,
                (held, silence) -> {
                  if (silence.holder() == LostHolder.Holder.DIED) {
                    died.put(held.id(), held); // again, if the transaction is repeated
                  }
                  return verdict.of(held, silence);
                })
            .states();
    int suspects = 0;
    int poisoned = 0;
    for (Map.Entry<TaskId, TaskState> each : states.entrySet()) {
      Claims.Held held = died.get(each.getKey());
      if (held != null && held.isSent() && each.getValue() == TaskState.PENDING) {
        suspects++;
      } else if (held != null && each.getValue() == TaskState.DEAD && verdict.isPoisonNext(held)) {
        poisoned++;
        log.warn("task is dead as poison task={} type={}", held.id(), held.type());
      }
    }
    return new Lost(states.size(), suspects, poisoned, !died.isEmpty());
  }

  private static void say(String node, Lost lost) {
    log.info(
        "recovered tasks from dead node node={} tasks={} suspects={} poisoned={}",
        node,
        lost.tasks(),
        lost.suspects(),
        lost.poisoned());
  }

  /**
   * Who was cut off itself must not take the others for dead, nor when it has just come back: they
   * come back as well, one after the other. To be asked also while another node leads: whoever
   * comes back first may be the next to lead.
   */
  boolean isCutOff() {
    NodeLease lease = node.get();
    long now = System.nanoTime();
    if (!lease.node().equals(knownAs)) {
      patientUntil = knownAs == null ? now : now + PATIENCE.toNanos();
      knownAs = lease.node();
    }
    return !lease.isTrusted(now) || now - patientUntil < 0;
  }
}
