package carillon.store.tasks;

import carillon.model.Partition;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What one bulk change has done.
 *
 * @param tasks how many were changed
 * @param requested how many running ones were asked to end
 * @param isMore whether it ended before the last
 * @param next where to go on; null for the beginning, which is where it began, less what it changed
 */
public record BulkResult(int tasks, int requested, boolean isMore, @Nullable Place next) {

  /** Whatever waits before this has been looked at. */
  public record Place(Partition partition, int lane, Instant readyAt) {}
}
