package carillon.store;

import carillon.model.RetryPolicy;
import carillon.model.SigningSecret;
import carillon.model.Target;
import carillon.model.TaskType;
import carillon.model.TenantId;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The task types of one tenant at a time. */
public final class Types {

  /** What PUT sets; what is null gets its default, except the secret, which then stays. */
  public record Settings(
      @Nullable Target target,
      @Nullable RetryPolicy retry,
      @Nullable Duration timeout,
      @Nullable Duration leaseTimeout,
      @Nullable Integer priority,
      @Nullable Integer slices,
      boolean paused,
      @Nullable SigningSecret signingSecret) {}

  /** What became of a change; {@code LiveTasks} only for delete. */
  public sealed interface Result {
    record Saved(TaskType type, boolean created) implements Result {}

    record Deleted() implements Result {}

    record NotFound() implements Result {}

    record StaleVersion(TaskType type) implements Result {}

    record LiveTasks() implements Result {}
  }

  public Optional<TaskType> find(TenantId tenant, String name) { throw new UnsupportedOperationException(); }

  /** By name, after the given one. */
  public Page<TaskType, String> list(TenantId tenant, int limit, @Nullable String after) { throw new UnsupportedOperationException(); }

  /** A new secret signs beside the one before it for 24 hours. */
  public Result put(TenantId tenant, String name, Settings settings, String who, @Nullable Integer ifVersion) { throw new UnsupportedOperationException(); }

  public Result delete(TenantId tenant, String name, String who, @Nullable Integer ifVersion) { throw new UnsupportedOperationException(); }

  /** Pauses or resumes. */
  public Result setPaused(Tx tx, TenantId tenant, String name, boolean paused, String who) { throw new UnsupportedOperationException(); }
}
