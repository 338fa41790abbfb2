package carillon.store;

import carillon.model.NewTask;
import carillon.model.TaskId;
import carillon.model.TenantId;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The tasks of one tenant at a time: created, looked up, changed by people and programs. */
public final class Tasks {

  /** Creates a task together with whatever else is being created at the moment; returns when it is committed. */
  public CreateResult create(TenantId tenant, NewTask task) { throw new UnsupportedOperationException(); }

  /** Creates a task in a transaction of the caller's; needed where it is unique or the answer is kept for repeats. */
  public CreateResult create(Tx tx, TenantId tenant, NewTask task) { throw new UnsupportedOperationException(); }

  /** Creates all of them or none; the ids come in the order given. A task asked for as unique is not allowed here. */
  public BatchResult createAll(Tx tx, TenantId tenant, List<NewTask> tasks) { throw new UnsupportedOperationException(); }

  /** What became of a batch. */
  public sealed interface BatchResult {
    record Created(List<TaskId> ids) implements BatchResult {}

    /** The tenant is strict and has no such type. */
    record UnknownType(int index, String type) implements BatchResult {}
  }

  public Optional<TaskView> find(TenantId tenant, TaskId id) { throw new UnsupportedOperationException(); }

  public Optional<TaskStory> story(TenantId tenant, TaskId id) { throw new UnsupportedOperationException(); }

  /** Newest due first; {@code before} is the last id of the page before. */
  public Page<TaskView, TaskId> list(TenantId tenant, TaskFilter filter, int limit, @Nullable TaskId before, boolean withPayload) { throw new UnsupportedOperationException(); }

  /** Changed: CANCELLED now. Unchanged: it was. WrongState: RUNNING (and its cancel is now requested) or ended otherwise. */
  public ChangeResult cancel(Tx tx, TenantId tenant, TaskId id, String who, @Nullable Integer ifVersion) { throw new UnsupportedOperationException(); }

  /** Cancels waiting tasks that match, and requests it of running ones; says how many are CANCELLED. */
  public int cancelMatching(Tx tx, TenantId tenant, TaskFilter filter, String who) { throw new UnsupportedOperationException(); }

  /** Makes a waiting task due now. */
  public ChangeResult runNow(Tx tx, TenantId tenant, TaskId id, String who, @Nullable Integer ifVersion) { throw new UnsupportedOperationException(); }

  /** Makes a dead task wait again with a fresh budget, its history kept. */
  public ChangeResult redrive(Tx tx, TenantId tenant, TaskId id, String who, @Nullable Integer ifVersion) { throw new UnsupportedOperationException(); }

  /** Changes a waiting or dead task. */
  public ChangeResult patch(Tx tx, TenantId tenant, TaskId id, TaskPatch patch, String who, @Nullable Integer ifVersion) { throw new UnsupportedOperationException(); }
}
