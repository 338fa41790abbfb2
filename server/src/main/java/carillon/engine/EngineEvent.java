package carillon.engine;

import carillon.model.ClaimedTask;
import carillon.model.DeliveryResult;
import carillon.model.TaskState;
import java.time.Duration;
import java.util.List;

/**
 * What the engine does, for whoever counts it: metrics, logs, tests. One event is a batch where
 * there is one.
 */
public sealed interface EngineEvent {

  record Claimed(List<ClaimedTask> tasks) implements EngineEvent {}

  record Delivered(DeliveryResult result, Duration took) implements EngineEvent {}

  /** An outcome was written, or dropped because the lease was lost (then {@code fenced}). */
  record Ended(List<Ending> endings, int fenced) implements EngineEvent {}

  /** How one claim ended. */
  enum Ending {
    COMPLETED,
    RETRIED,
    RELEASED,
    DEAD,
    CANCELLED,
    EXPIRED
  }

  /** Tasks were taken back from a silent owner. */
  record Reaped(int tasks) implements EngineEvent {}

  record Expired(int tasks) implements EngineEvent {}

  record PassFailed(String loop) implements EngineEvent {}

  /** The way an attempt ended, as its task's next state tells. */
  static Ending ending(TaskState next, boolean released) {
    return switch (next) {
      case COMPLETED -> Ending.COMPLETED;
      case PENDING, RUNNING -> released ? Ending.RELEASED : Ending.RETRIED;
      case DEAD -> Ending.DEAD;
      case CANCELLED -> Ending.CANCELLED;
      case EXPIRED -> Ending.EXPIRED;
    };
  }
}
