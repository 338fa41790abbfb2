package carillon.model.task;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A task to create.
 *
 * @param priority null means the type's
 * @param dueAt null or in the past means now, by the database's clock
 * @param delay used instead of dueAt: the time from now, by the database's clock, until it is due
 * @param ttl used instead of expiresAt: the time from the due time until it expires
 * @param uniqueFor if a task with the same type and key is live, or was created within this time,
 *     that task is returned and no other created
 */
public record NewTask(
    TaskSpec spec,
    @Nullable Integer priority,
    @Nullable Instant dueAt,
    @Nullable Duration delay,
    @Nullable Instant expiresAt,
    @Nullable Duration ttl,
    @Nullable Duration uniqueFor) {

  /** A task that does not expire. */
  public NewTask(TaskSpec spec, @Nullable Integer priority, @Nullable Instant dueAt) {
    this(spec, priority, dueAt, null, null, null, null);
  }

  public String type() {
    return spec.type();
  }
}
