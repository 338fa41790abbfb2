package carillon.engine;

import carillon.model.task.ClaimedTask;
import carillon.store.queue.WorkQueue.Claimant;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Completes tasks with the target {@code discard} as soon as they are claimed. */
record DiscardStarter(Dispatcher dispatcher) implements TaskStarter {

  @Override
  public boolean startsImmediately() {
    return true;
  }

  @Override
  public Claimant claimant(UUID claim, String node, @Nullable Duration consumerLease) {
    return Claimant.discard(claim, node);
  }

  @Override
  public void start(List<ClaimedTask> tasks, String node) {
    dispatcher.discard(tasks);
  }
}
