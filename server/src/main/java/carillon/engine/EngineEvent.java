package carillon.engine;

import carillon.model.TenantId;
import carillon.model.schedule.SkipReason;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** What the engine did, for metrics, logs and tests. One event is a batch where there is one. */
public sealed interface EngineEvent {

  record Claimed(List<ClaimedTask> tasks) implements EngineEvent {}

  /**
   * Tasks that were claimed in the transaction that created them; {@link Claimed} includes them.
   */
  record StartedImmediately(int tasks) implements EngineEvent {}

  record Delivered(DeliveryResult result, Duration took) implements EngineEvent {}

  /** Outcomes were written, or dropped because the lease had been lost ({@code fenced}). */
  record Ended(int written, int fenced) implements EngineEvent {}

  /**
   * Tasks were reclaimed from a lost holder.
   *
   * @param suspects how many of them may have crashed their node
   */
  record Reaped(int tasks, int suspects) implements EngineEvent {}

  record Expired(int tasks) implements EngineEvent {}

  /** Past nominal times became tasks. */
  record Backfilled(int tasks) implements EngineEvent {}

  /** Dead letters were moved to a file. */
  record Archived(int tasks) implements EngineEvent {}

  /** A file of dead letters could not be written. */
  record ArchiveFailed() implements EngineEvent {}

  /** Nominal times of schedules became tasks, or were skipped. */
  record Fired(int tasks, Map<SkipReason, Integer> skipped) implements EngineEvent {
    public Fired {
      skipped = Map.copyOf(skipped);
    }
  }

  /** Nominal times that were not planned when they were due; catch-up decided about them. */
  record FireMissed(TenantId tenant, String schedule, int times) implements EngineEvent {}

  record PassFailed(String loop) implements EngineEvent {}
}
