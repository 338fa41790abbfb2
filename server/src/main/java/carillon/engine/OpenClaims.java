package carillon.engine;

import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The claims of this node whose tasks have not all ended, and the seats that they hold.
 *
 * <pre>
 *   requested ──► opened ──► tried (each task) ──► saved or dropped (each task) ──► closed
 *       └──► answered with no tasks, or the response was lost
 * </pre>
 *
 * A claim in the database that is not known here was lost: {@link LostClaims} reclaims its tasks.
 */
final class OpenClaims {

  /** Changed under its own lock, read without. */
  private final Map<UUID, Claim> open = new ConcurrentHashMap<>();

  /** Claims that were requested and not answered yet. Guarded by open. */
  private final Set<UUID> requested = new HashSet<>();

  private volatile @Nullable Long answeredAt;

  /**
   * An open claim.
   *
   * @param tasks how many have neither been saved nor dropped
   * @param untried how many of its tasks have not been tried; shared by all versions of this record
   * @param mustStay a task of it left this node without being saved, or its end may be lost. It is
   *     still RUNNING, so the row of the claim must stay for its new holder or for the reaper
   */
  record Claim(int tasks, AtomicInteger untried, Seats seats, boolean mustStay) {

    private Claim without(int ended, boolean dropped) {
      return new Claim(tasks - ended, untried, seats, mustStay || dropped);
    }

    /** One task has been tried. After {@link #abandon} its seat has been freed already. */
    void tried() {
      if (untried.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
        seats.tried();
      }
    }
  }

  /** A claim is about to be requested under this id. */
  void requested(UUID claim) {
    synchronized (open) {
      requested.add(claim);
    }
  }

  /** The claim took this many tasks, for which seats were taken. */
  void opened(UUID claim, int tasks, Seats seats) {
    seats.claimed(tasks);
    synchronized (open) {
      open.put(claim, new Claim(tasks, new AtomicInteger(tasks), seats, false));
    }
  }

  /** The claim got its response, or the response was lost. */
  void answered(UUID claim) {
    answeredAt = System.nanoTime();
    synchronized (open) {
      requested.remove(claim);
    }
  }

  /** Whether a claim got its response, or lost it, within this time. */
  boolean hasAnswerWithin(Duration time) {
    Long last = answeredAt;
    return last != null && System.nanoTime() - last < time.toNanos();
  }

  /** Whether this node knows of a claim that it holds in the database. */
  boolean isKnown(UUID claim) {
    synchronized (open) {
      return requested.contains(claim) || open.containsKey(claim);
    }
  }

  @Nullable Claim find(UUID claim) {
    return open.get(claim);
  }

  /**
   * Forgets a claim whose tasks could not be started, and frees its seats. Tasks that did start end
   * as usual, but hold no seat.
   */
  void abandon(UUID claim) {
    Claim left;
    synchronized (open) {
      left = open.remove(claim);
    }
    if (left != null) {
      left.seats().abandon(left.untried().getAndSet(0), left.tasks());
    }
  }

  /**
   * A standby was promoted, which may lack ends that were saved before. The rows of all open claims
   * stay, so that {@link LostClaims} finds the tasks.
   */
  void keepAll() {
    synchronized (open) {
      open.replaceAll((_, claim) -> claim.without(0, true));
    }
  }

  /** The claims that have no tasks left once this many of each are saved. */
  Set<UUID> closedBy(Map<UUID, Integer> saving) {
    Set<UUID> closed = new HashSet<>();
    synchronized (open) {
      saving.forEach(
          (id, tasks) -> {
            Claim claim = open.get(id);
            if (claim != null && claim.tasks() == tasks && !claim.mustStay()) {
              closed.add(id);
            }
          });
    }
    return closed;
  }

  /** This many tasks of each claim are saved. */
  void saved(Map<UUID, Integer> perClaim) {
    perClaim.forEach((claim, tasks) -> end(claim, tasks, false));
  }

  /** One task of this claim is no longer this node's, and nothing was saved about it. */
  void dropped(UUID claim) {
    end(claim, 1, true);
  }

  private void end(UUID claim, int tasks, boolean dropped) {
    Claim before;
    synchronized (open) {
      before = open.get(claim);
      open.computeIfPresent(
          claim, (_, left) -> left.tasks() == tasks ? null : left.without(tasks, dropped));
    }
    if (before != null) {
      before.seats().saved(tasks);
    }
  }
}
