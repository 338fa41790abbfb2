package carillon.engine;

import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.LostHolder;
import carillon.model.task.Outcome;
import carillon.store.db.DbClock;
import carillon.store.queue.HeldClaims;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Decides what happens to a task whose holder stopped renewing its lease.
 *
 * @param poisonCrashes after this many crashes a task is dead
 */
public record ReapDecision(DbClock clock, int poisonCrashes) {

  private static final Failure LOST =
      Failure.of(
          FailureKind.LEASE_LOST,
          "the worker's lease lapsed; it is unknown how far the attempt got");
  private static final Failure CUT_OFF =
      Failure.of(
          FailureKind.LEASE_LOST,
          "the node that ran this attempt lost the database for longer than its lease; it is"
              + " unknown how far the attempt got");
  private static final Failure STOPPED =
      Failure.of(
          FailureKind.SHUTDOWN, "the node was stopped before it could save how the attempt ended");
  private static final Failure CRASHED =
      Failure.of(
          FailureKind.CRASHED,
          "the node that ran this attempt crashed; it is unknown how far the attempt got");

  /** Whether one more crash makes the task dead. */
  public boolean isPoisonNext(HeldClaims.Held held) {
    return held.crashes() + 1 >= poisonCrashes;
  }

  /** The attempt counts, unless it certainly did not start or its node was only stopped. */
  public Outcome of(HeldClaims.Held held, LostHolder lost) {
    int crashes = held.crashes() + 1;
    if (lost.blamed() && isPoisonNext(held)) {
      return new Outcome.Dead(
          Failure.of(
              FailureKind.POISON, crashes + " nodes crashed while they ran it: it is not retried"),
          false);
    }
    Failure failure =
        switch (lost.holder()) {
          case SILENT -> LOST;
          case LEFT -> STOPPED;
          case CUT_OFF -> CUT_OFF;
          case DIED -> CRASHED;
        };
    if (!lost.begun() || lost.holder() == LostHolder.Holder.LEFT) {
      return new Outcome.Released(failure);
    }
    return held.retry()
        .afterFailure(
            held.attempt(),
            held.dueAt(),
            failure,
            null,
            clock.latest(),
            ThreadLocalRandom.current());
  }
}
