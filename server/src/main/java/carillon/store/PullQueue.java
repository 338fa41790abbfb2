package carillon.store;

import carillon.model.ClaimedTask;
import carillon.model.Lease;
import carillon.model.TaskId;
import carillon.model.TenantId;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The queue as the workers of one tenant see it: an engine outside the process. */
public final class PullQueue {

  /** Claims what is due; {@code lease} null means each type's own. Types without tasks are simply empty. */
  public List<ClaimedTask> claim(Tx tx, TenantId tenant, List<String> types, int max, String worker, @Nullable Duration lease) { throw new UnsupportedOperationException(); }

  /**
   * Waits until a claim for these types is worth trying again: something new, something become due, or at the latest
   * after a second, because tasks also come from other nodes.
   */
  public void awaitWork(TenantId tenant, List<String> types, Duration atMost) throws InterruptedException { throw new UnsupportedOperationException(); }

  /** Per report, in order: whether it was accepted. What names a lease that is not current changes nothing. */
  public List<Boolean> report(Tx tx, TenantId tenant, List<WorkReport> reports, String who) { throw new UnsupportedOperationException(); }

  /** One lease to renew. */
  public record Renewal(TaskId id, Lease lease) {}

  /** What became of a renewal. */
  public enum Renewed {
    RENEWED,
    STALE,
    /** Renewed, but a cancel was requested: stop if you can. */
    CANCELLED
  }

  /** Where a lease now ends; null unless renewed. */
  public record RenewResult(Renewed renewed, @Nullable Instant leaseUntil) {}

  public List<RenewResult> renew(Tx tx, TenantId tenant, List<Renewal> renewals, @Nullable Duration lease) { throw new UnsupportedOperationException(); }
}
