package carillon.engine;

import carillon.model.ClaimedTask;
import carillon.model.DeliveryResult;
import java.time.Duration;
import java.util.List;

/**
 * What the engine does, for whoever counts it: metrics, logs, tests. One event is a batch where
 * there is one.
 */
public sealed interface EngineEvent {

  record Claimed(List<ClaimedTask> tasks) implements EngineEvent {}

  record Delivered(DeliveryResult result, Duration took) implements EngineEvent {}

  /** Outcomes were written, or dropped because the lease had been lost ({@code fenced}). */
  record Ended(int written, int fenced) implements EngineEvent {}

  /** Tasks were taken back from a silent owner. */
  record Reaped(int tasks) implements EngineEvent {}

  record Expired(int tasks) implements EngineEvent {}

  /** Past nominal times became tasks. */
  record Backfilled(int tasks) implements EngineEvent {}

  /** Dead letters were moved to a file. */
  record Archived(int tasks) implements EngineEvent {}

  /** A file of dead letters could not be written. */
  record ArchiveFailed() implements EngineEvent {}

  record PassFailed(String loop) implements EngineEvent {}
}
