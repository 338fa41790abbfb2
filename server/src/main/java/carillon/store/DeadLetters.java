package carillon.store;

import carillon.model.TaskId;
import carillon.model.TenantId;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The dead tasks of one tenant at a time. */
public final class DeadLetters {

  /** Which dead letters; what is null or empty does not matter. */
  public record Filter(
      @Nullable String type,
      @Nullable String error,
      @Nullable Instant diedAfter,
      @Nullable Instant diedBefore,
      List<TaskId> ids) {
    public Filter {
      ids = List.copyOf(ids);
    }
  }

  /** Where a page ended. */
  public record Position(Instant diedAt, TaskId id) {}

  /** How many matched, and to how many it was done. */
  public record Done(int matched, int done) {}

  /** Newest death first. */
  public Page<TaskView, Position> list(TenantId tenant, Filter filter, int limit, @Nullable Position before, boolean withPayload) { throw new UnsupportedOperationException(); }

  /** Redrives at most 10,000 in one go; with a rate (per second) they become ready one after the other. */
  public Done redrive(Tx tx, TenantId tenant, Filter filter, @Nullable Integer ratePerSecond, String who) { throw new UnsupportedOperationException(); }

  /** Removes at most 10,000 in one go, tasks and all. */
  public Done purge(Tx tx, TenantId tenant, Filter filter, String who) { throw new UnsupportedOperationException(); }
}
