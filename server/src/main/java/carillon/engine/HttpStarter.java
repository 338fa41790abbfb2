package carillon.engine;

import carillon.model.task.ClaimedTask;
import carillon.store.queue.WorkQueue.Claimant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Delivers claimed tasks over HTTP. Suspects wait for their group, the others start at once. */
record HttpStarter(Dispatcher dispatcher, Suspects suspects) implements TaskStarter {

  @Override
  public boolean startsImmediately() {
    return true;
  }

  @Override
  public Claimant claimant(UUID claim, String node, @Nullable Duration consumerLease) {
    return Claimant.node(claim, node, suspects.room());
  }

  @Override
  public void start(List<ClaimedTask> tasks, String node) {
    List<ClaimedTask> suspected = new ArrayList<>();
    List<ClaimedTask> others = new ArrayList<>(tasks.size());
    tasks.forEach(task -> (task.isSuspect() ? suspected : others).add(task));
    if (!suspected.isEmpty()) {
      suspects.add(suspected, node);
    }
    dispatcher.send(others, node);
  }
}
