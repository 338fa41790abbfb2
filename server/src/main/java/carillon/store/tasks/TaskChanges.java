package carillon.store.tasks;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.Lane;
import carillon.model.task.Route;
import carillon.model.task.TaskState;
import carillon.store.catalog.Audit;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Partitions;
import carillon.store.db.DbClock;
import carillon.store.db.Sql;
import carillon.store.db.Transitions;
import carillon.store.db.Tx;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * Cancels, runs, redrives and edits single tasks. Every change first locks the row of the task and,
 * if it waits, its row of the queue: it waits for a claim in progress, and later claims skip the
 * task until it commits. Then it checks the state and writes both rows. The lock also keeps the
 * tables of the partition from being dropped, so the statements can name them.
 */
final class TaskChanges {

  private final TaskReader reader;
  private final Catalog catalog;
  private final DbClock clock;
  private final DueListener due;
  private final TaskRedrives redrives;

  TaskChanges(TaskReader reader, Catalog catalog, DbClock clock, DueListener due) {
    this.reader = reader;
    this.catalog = catalog;
    this.clock = clock;
    this.due = due;
    this.redrives = new TaskRedrives(due);
  }

  private ChangeResult underLock(
      Tx tx,
      TenantId tenant,
      TaskId id,
      @Nullable Integer ifVersion,
      BiFunction<Tx, TaskView, ChangeResult> change) {
    Optional<TaskView> found = reader.lock(tx, tenant, id);
    if (found.isEmpty()) {
      return new ChangeResult.NotFound();
    }
    TaskView task = found.get();
    if (ifVersion != null && ifVersion != task.version()) {
      return new ChangeResult.StaleVersion(task);
    }
    return change.apply(tx, task);
  }

  private static final String CANCEL =
      """
      /* TaskChanges.cancel */
      WITH taken AS (
          DELETE FROM carillon.queue_{partition}
          WHERE lane = ?
            AND ready_at = ?
            AND id = ?
      )
      UPDATE carillon.task_{partition}
      SET state = 'CANCELLED',
          ready_at = NULL,
          finished_at = clock_timestamp(),
          version = version + 1
      WHERE tenant = ?
        AND id = ?
        AND state = 'PENDING'
      """;

  private static final String REQUEST_CANCEL =
      """
      /* TaskChanges.requestCancel */
      UPDATE carillon.task_{partition}
      SET cancel_requested = true,
          version = version + 1
      WHERE tenant = ?
        AND id = ?
        AND state = 'PENDING' -- stored; it is running
        AND NOT cancel_requested
      """;

  ChangeResult cancel(Tx tx, TenantId tenant, TaskId id, String who, @Nullable Integer ifVersion) {
    return underLock(
        tx,
        tenant,
        id,
        ifVersion,
        (t, task) ->
            switch (task.state()) {
              case PENDING -> {
                t.update(
                    Sql.forPartition(CANCEL, id.partition()),
                    task.lane().id(),
                    task.readyAt(),
                    id,
                    tenant,
                    id);
                recordCancel(t, tenant, task, who);
                Audit.record(t, tenant, who, "task.cancel", id.toString(), null);
                yield new ChangeResult.Changed(reader.reread(t, tenant, id));
              }
              case CANCELLED -> new ChangeResult.Unchanged(task);
              case RUNNING -> {
                t.update(Sql.forPartition(REQUEST_CANCEL, id.partition()), tenant, id);
                Audit.record(t, tenant, who, "task.cancel", id.toString(), null);
                recordTouched(t, task);
                yield new ChangeResult.Requested(reader.reread(t, tenant, id));
              }
              case COMPLETED, DEAD, EXPIRED -> new ChangeResult.WrongState(task);
            });
  }

  private static final String RECORD_CANCEL =
      """
      /* TaskChanges.recordCancel */
      INSERT INTO carillon.transition_{partition} (tenant, task, partition, at, from_state, to_state, fence, who)
      VALUES (?, ?, ?, clock_timestamp(), 'PENDING', 'CANCELLED', ?, ?)
      """;

  private static void recordCancel(Tx tx, TenantId tenant, TaskView task, String who) {
    TaskId id = task.id();
    Partition partition = id.partition();
    tx.update(Sql.forPartition(RECORD_CANCEL, partition), tenant, id, partition, task.fence(), who);
    tx.moved(
        List.of(
            new Transitions.Moved(
                id, task.lane().id(), TaskState.PENDING, TaskState.CANCELLED, task.attempt())));
  }

  private static void recordTouched(Tx tx, TaskView task) {
    tx.touched(new Transitions.Touched(task.id(), task.lane().id(), task.state(), task.attempt()));
  }

  private static final String RUN_NOW =
      """
      /* TaskChanges.runNow */
      WITH moved AS (
          UPDATE carillon.queue_{partition}
          SET ready_at = clock_timestamp()
          WHERE lane = ?
            AND ready_at = ?
            AND id = ?
          RETURNING ready_at
      )
      UPDATE carillon.task_{partition} t
      SET ready_at = moved.ready_at,
          due_at = least(t.due_at, moved.ready_at),
          version = t.version + 1
      FROM moved
      WHERE t.tenant = ?
        AND t.id = ?
        AND t.state = 'PENDING'
      """;

  ChangeResult runNow(Tx tx, TenantId tenant, TaskId id, String who, @Nullable Integer ifVersion) {
    return underLock(
        tx,
        tenant,
        id,
        ifVersion,
        (t, task) -> {
          if (task.state() != TaskState.PENDING) {
            return new ChangeResult.WrongState(task);
          }
          t.update(
              Sql.forPartition(RUN_NOW, id.partition()),
              task.lane().id(),
              task.readyAt(),
              id,
              tenant,
              id);
          Audit.record(t, tenant, who, "task.run", id.toString(), null);
          recordTouched(t, task);
          return announceReady(t, tenant, id);
        });
  }

  /** Updates the partition and the agenda: the task may have become ready earlier. */
  private ChangeResult announceReady(Tx tx, TenantId tenant, TaskId id) {
    TaskView task = reader.reread(tx, tenant, id);
    Instant readyAt = task.readyAt();
    if (readyAt != null) {
      Partitions.openEarlier(tx, id.partition(), readyAt);
      tx.afterCommit(() -> due.onReady(id.partition(), task.lane().id(), readyAt));
    }
    return new ChangeResult.Changed(task);
  }

  ChangeResult redrive(Tx tx, TenantId tenant, TaskId id, String who, @Nullable Integer ifVersion) {
    return underLock(
        tx,
        tenant,
        id,
        ifVersion,
        (t, task) -> {
          if (task.state() != TaskState.DEAD) {
            return new ChangeResult.WrongState(task);
          }
          redrives.redrive(t, tenant, id.partition(), List.of(id), who, null);
          TaskRedrives.deleteLetters(t, tenant, List.of(id));
          Audit.record(t, tenant, who, "task.redrive", id.toString(), null);
          return new ChangeResult.Changed(reader.reread(t, tenant, id));
        });
  }

  private static final String SET_LETTER_KEY =
      """
      /* TaskChanges.setLetterKey */
      UPDATE carillon.dead_letter
      SET key = ?
      WHERE tenant = ?
        AND task = ?
      """;

  private static final String PATCH =
      """
      /* TaskChanges.patch */
      WITH patched AS (
          UPDATE carillon.task_{partition}
          SET due_at = coalesce(?::timestamptz, due_at),
              -- A task that is postponed beyond its expiry is postponed together with its expiry.
              expires_at = CASE WHEN ?::timestamptz >= expires_at THEN expires_at + (?::timestamptz - due_at)
                                ELSE expires_at END,
              ready_at = CASE WHEN state = 'PENDING' THEN coalesce(?::timestamptz, ready_at) END,
              lane = ?,
              payload = coalesce(?, payload),
              retry = coalesce(?::jsonb, retry),
              key = coalesce(?, key),
              target = coalesce(?::jsonb, target),
              version = version + 1
          WHERE tenant = ?
            AND id = ?
            AND state IN ('PENDING', 'DEAD')
          RETURNING ready_at, expires_at, lane, attempt, payload
      )
      UPDATE carillon.queue_{partition} q -- has no row of a dead task
      SET ready_at = patched.ready_at,
          expires_at = CASE WHEN patched.attempt = 0 THEN patched.expires_at END,
          lane = patched.lane,
          payload_bytes = coalesce(octet_length(patched.payload), 0)
      FROM patched
      WHERE q.lane = ?
        AND q.ready_at = ?
        AND q.id = ?
      """;

  ChangeResult patch(
      Tx tx,
      TenantId tenant,
      TaskId id,
      TaskPatch requested,
      String who,
      @Nullable Integer ifVersion) {
    return underLock(
        tx,
        tenant,
        id,
        ifVersion,
        (t, task) -> {
          if (task.state() != TaskState.PENDING && task.state() != TaskState.DEAD) {
            return new ChangeResult.WrongState(task);
          }
          TaskPatch patch = requested.keeping(task.spec().target());
          Lane lane = task.lane();
          int priority = patch.priority() == null ? lane.priority() : patch.priority();
          // The target decides who may claim the task, and thereby its lane.
          Route route = patch.target() == null ? lane.route() : Route.of(patch.target());
          Lane next = catalog.laneFor(tenant, lane.type(), priority, lane.slice(), route);
          Instant dueAt = patch.dueAt() == null ? null : later(patch.dueAt(), clock.instant());
          t.update(
              Sql.forPartition(PATCH, id.partition()),
              dueAt,
              dueAt,
              dueAt,
              dueAt,
              next.id(),
              patch.payload(),
              Sql.json(patch.retry()),
              patch.key(),
              Sql.json(patch.target()),
              tenant,
              id,
              lane.id(),
              task.readyAt(),
              id);
          if (patch.key() != null && task.state() == TaskState.DEAD) {
            t.update(SET_LETTER_KEY, patch.key(), tenant, id);
          }
          Audit.record(t, tenant, who, "task.edit", id.toString(), TaskAuditDetail.of(task, patch));
          recordTouched(t, task);
          return announceReady(t, tenant, id);
        });
  }

  private static Instant later(Instant a, Instant b) {
    return a.isAfter(b) ? a : b;
  }
}
