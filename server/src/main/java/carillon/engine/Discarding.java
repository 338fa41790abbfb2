package carillon.engine;

import carillon.model.task.ClaimedTask;
import carillon.model.task.Lane;
import carillon.store.queue.WorkQueue.Claimant;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Completes tasks with the target {@code discard} as soon as they are claimed. */
record Discarding(Dispatcher dispatcher) implements TaskStarter {

  @Override
  public boolean isReady() {
    return true;
  }

  @Override
  public LaneLimit limitForPass() {
    return LaneLimit.NONE;
  }

  @Override
  public @Nullable Duration consumerLease(Lane lane) {
    return null;
  }

  @Override
  public Claimant claimant(UUID claim, String node, boolean forConsumer) {
    return Claimant.discard(claim, node);
  }

  @Override
  public void start(List<ClaimedTask> tasks, String node) {
    dispatcher.discard(tasks);
  }
}
