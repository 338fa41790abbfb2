package carillon.store.tasks;

import carillon.model.Partition;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The result of one bulk change.
 *
 * @param tasks how many tasks were changed
 * @param requested how many running tasks now have a cancel request
 * @param hasMore whether it stopped early, so that matching tasks may be left
 * @param next where to continue; null to start over, which skips the tasks that no longer match
 */
public record BulkResult(int tasks, int requested, boolean hasMore, @Nullable Place next) {

  /** All waiting tasks before this position have been examined. */
  public record Place(Partition partition, int lane, Instant readyAt) {}
}
