package carillon.store.queue;

import static java.util.Objects.requireNonNull;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.task.Attempted;
import carillon.model.task.FailureKind;
import carillon.model.task.Lane;
import carillon.model.task.Outcome;
import carillon.model.task.TaskState;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Types;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.Counters;
import carillon.store.tasks.Tasks;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Saves the outcomes of claims: the completer's batches, workers' reports and the reaper's
 * decisions. This is the first time since its creation or last attempt that a task's row is
 * written. A statement changes it only under the fence of its outcome, and a cancel that was
 * requested while the task ran takes effect here. {@link Completions} saves tasks that completed.
 *
 * <p><b>The fence.</b> The lease of a task has the number {@code task.fence + 1}; the end of the
 * attempt stores it. So the first end of an attempt, by its holder or the reaper, rejects all
 * others. A node's outcome is about a task that its claim took. A worker's report is compared with
 * the claim first ({@link WorkerClaims}): otherwise it could end a task that waits.
 *
 * <p><b>Lock order.</b> To avoid deadlocks, every transaction takes its locks in this order: the
 * row of the node; then, partition by partition, tasks, their rows in the queue and concurrency
 * keys; then dead letters and their groups; the catalog; rows of claims, by partition and id. A
 * claim skips locked rows of the queue; holding some, it may wait for a concurrency key. The reaper
 * never waits for a task ({@link HeldClaims#reap}), so holders, reaper, reports and renewals cannot
 * deadlock. Batches that lock tasks of several partitions, or keys of several lanes, can, if they
 * meet others about the same tasks: PostgreSQL ends one of them after a second, and {@link Db}
 * repeats it. {@code LockOrderTest} and {@code InterleavingTest} run them against each other.
 */
public final class Outcomes {

  private final Db db;
  private final Catalog catalog;
  private final Agenda agenda;
  private final CallbackTasks callbacks;
  private final Alerts alerts;
  private final Counters counters;

  public Outcomes(
      Db db, Catalog catalog, Agenda agenda, Tasks tasks, Alerts alerts, Counters counters) {
    this.db = db;
    this.catalog = catalog;
    this.agenda = agenda;
    this.callbacks = new CallbackTasks(db, catalog, tasks, counters);
    this.alerts = alerts;
    this.counters = counters;
  }

  /**
   * Each statement locks in one order, so that its batches hardly ever deadlock. Completions have
   * another order: if a batch of each kind wants the same tasks, PostgreSQL aborts one of them
   * after a second, and it is retried.
   */
  private static final Comparator<ClaimEnding> BY_ID =
      Comparator.comparing(each -> each.id().value());

  /**
   * Every outcome except completion. The task will be retried, or it is dead or cancelled, so the
   * claim is recorded as a transition.
   */
  private static final String FINISH =
      """
      /* Outcomes.finish */
      WITH f AS MATERIALIZED ( -- skips claims that a failover has lost
          SELECT f.*, c.*
          FROM unnest(?::int[], ?::uuid[], ?::int[], ?::uuid[], ?::text[], ?::timestamptz[], ?::boolean[], ?::text[],
                      ?::smallint[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::boolean[],
                      ?::boolean[])
               AS f (tenant, id, fence, claim, state, ready_at, released, failure, status, error, output, progress,
                     type, request, blamed, cleared)
          CROSS JOIN LATERAL (
              SELECT c.leased_by, c.started_at, c.lease_until
              FROM carillon.claim c
              WHERE c.id = f.claim
              OFFSET 0 -- as in Completions
          ) c
      ), done AS (
          UPDATE carillon.task_{partition} t
          -- A cancel that was requested meanwhile is seen here, under the row's lock, or not at all.
          SET state = CASE WHEN f.state = 'PENDING' AND t.cancel_requested THEN 'CANCELLED'
                           ELSE f.state::carillon.task_state END,
              ready_at = CASE WHEN f.state = 'PENDING' AND NOT t.cancel_requested
                              THEN coalesce(f.ready_at, clock_timestamp()) END,
              finished_at = CASE WHEN f.state = 'PENDING' AND NOT t.cancel_requested THEN NULL
                                 ELSE clock_timestamp() END,
              attempt = CASE WHEN f.released THEN t.attempt ELSE t.attempt + 1 END,
              version = t.version + 2, -- one of them for the claim, which does not write this row
              fence = f.fence,
              leased_by = f.leased_by,
              lease_until = NULL,
              started_at = f.started_at,
              status = f.status,
              failure = f.failure,
              error = f.error,
              output = f.output,
              request = f.request,
              crashes = CASE WHEN f.blamed THEN coalesce(t.crashes, 0) + 1
                             WHEN NOT f.cleared THEN t.crashes END,
              progress = coalesce(f.progress, t.progress)
          FROM f
          WHERE t.tenant = f.tenant
            AND t.id = f.id
            AND t.state = 'PENDING'
            AND t.fence = f.fence - 1 -- the fence: a holder that lost its lease can no longer write
            AND (NOT ? OR coalesce(t.lease_until, f.lease_until, '-infinity') < clock_timestamp())
          RETURNING t.tenant, t.id, t.partition, t.lane, t.state, t.ready_at, t.attempt, t.fence, t.leased_by, t.started_at,
                    t.key, t.concurrency_key, t.crashes, octet_length(t.payload) AS payload_bytes,
                    CASE WHEN t.attempt = 0 THEN t.expires_at END AS expires_at, -- a started task does not expire
                    f.released, f.failure, f.status, f.error, f.output, f.type, f.request, t.on_dead
      ), queued AS (
          INSERT INTO carillon.queue_{partition} (
              ready_at, expires_at, id, lane, partition, attempt, fence, payload_bytes, crashes, concurrency_key)
          SELECT ready_at, expires_at, id, lane, partition, attempt, fence, coalesce(payload_bytes, 0), crashes,
                 concurrency_key
          FROM done
          WHERE state = 'PENDING'
      ), trail AS (
          INSERT INTO carillon.transition_{partition} (tenant, task, partition, at, from_state, to_state, fence, who, reason)
          SELECT tenant, id, partition, started_at, 'PENDING'::carillon.task_state, 'RUNNING'::carillon.task_state, fence,
                 leased_by, NULL
          FROM done
          UNION ALL
          SELECT tenant, id, partition, clock_timestamp(), 'RUNNING', state, fence, ?, failure
          FROM done
      ), kept AS ( -- the row will be used again, so this attempt moves to the history
          INSERT INTO carillon.attempt_{partition} (
              tenant, task, partition, attempt, fence, leased_by, started_at, ended_at, outcome, failure, status, error,
              output, request)
          SELECT tenant, id, partition, CASE WHEN released THEN attempt + 1 ELSE attempt END, fence, leased_by, started_at,
                 clock_timestamp(), CASE WHEN released THEN 'RELEASED' ELSE 'RETRIED' END, failure, status, error,
                 output, request
          FROM done
          WHERE state = 'PENDING'
      ), keys AS (
          DELETE FROM carillon.running_key k
          USING done
          WHERE done.concurrency_key IS NOT NULL
            AND k.tenant = done.tenant
            AND k.type = done.type
            AND k.key = done.concurrency_key
            AND k.task = done.id
      )
      SELECT id, lane, state, ready_at, attempt, concurrency_key IS NOT NULL AS keyed, released, failure,
             CASE WHEN state = 'DEAD' THEN on_dead END AS callback, status, error, key
      FROM done
      """;

  // For all partitions at once, so that the groups are locked last and in one order. Triggers on
  // dead_letter count the letters of each group in dead_letter_group.
  private static final String BURY =
      """
      /* Outcomes.bury */
      INSERT INTO carillon.dead_letter (tenant, task, partition, type, died_at, error, failure, status, key)
      SELECT tenant, task, partition, type, clock_timestamp(), error, failure, status, key
      FROM unnest(?::int[], ?::uuid[], ?::date[], ?::text[], ?::text[], ?::text[], ?::smallint[], ?::text[])
           AS n (tenant, task, partition, type, error, failure, status, key)
      """;

  /**
   * The result of saving a batch.
   *
   * @param states the new states of the saved tasks; the others had lost their lease
   */
  public record Written(Map<TaskId, TaskState> states) {}

  private static final String RETIRE =
      """
      /* Outcomes.retire */
      DELETE FROM carillon.claim
      WHERE id = ANY (?)
      """;

  /**
   * Writes the outcomes of attempts that this node ran, in one transaction.
   *
   * @param over claims whose tasks have all ended; asked again if the transaction is repeated,
   *     perhaps on a promoted standby
   */
  public Written finishAttempts(List<Attempted> attempted, Supplier<Set<UUID>> over, String node) {
    return db.inTransaction(tx -> finishAttempts(tx, attempted, over.get(), node));
  }

  public Written finishAttempts(List<Attempted> attempted, Set<UUID> over, String node) {
    return finishAttempts(attempted, () -> over, node);
  }

  public Written finishAttempts(Tx tx, List<Attempted> attempted, Set<UUID> over, String node) {
    Written written = finishAll(tx, attempted.stream().map(ClaimEnding::of).toList(), node, false);
    if (db.reportsFailoverFirst()) {
      tx.update(RETIRE, Column.uuids(over, id -> id));
    } else {
      retireIfEnded(tx, attempted, written, over);
    }
    return written;
  }

  /**
   * Deletes those of the claims whose tasks have ended in this database, too: it may be a promoted
   * standby that has lost an end which this node saved before.
   */
  private static void retireIfEnded(
      Tx tx, List<Attempted> attempted, Written written, Set<UUID> over) {
    HeldClaims.retireOver(
        tx,
        attempted.stream().filter(each -> over.contains(each.lease().claim())).toList(),
        Attempted::id,
        Attempted::lease,
        each -> written.states().containsKey(each.id()));
  }

  /** Saves outcomes that the holders report. */
  Written finishReported(Tx tx, List<ClaimEnding> endings, String who) {
    return finishAll(tx, endings, who, false);
  }

  /** Ends claims of lost holders whose lease has still lapsed at the time of the write. */
  Written finishLapsed(Tx tx, List<ClaimEnding> endings, String who) {
    return finishAll(tx, endings, who, true);
  }

  private Written finishAll(Tx tx, List<ClaimEnding> endings, String who, boolean lapsed) {
    Map<Partition, List<ClaimEnding>> byPartition = new TreeMap<>();
    endings.forEach(
        ending ->
            byPartition
                .computeIfAbsent(ending.id().partition(), _ -> new ArrayList<>())
                .add(ending));
    Map<TaskId, TaskState> states = new HashMap<>();
    List<EndedTask> dead = new ArrayList<>();
    byPartition.forEach(
        (partition, some) -> {
          List<EndedTask> done = finishInPartition(tx, partition, some, who, lapsed);
          done.forEach(one -> states.put(one.id(), one.state()));
          callbacks.write(tx, partition, done);
          done.stream().filter(one -> one.state() == TaskState.DEAD).forEach(dead::add);
          tx.afterCommit(() -> done.forEach(this::countAndWake));
          tx.moved(done);
        });
    if (!dead.isEmpty()) {
      bury(tx, dead);
      alerts.raise(tx, dead);
    }
    // Last, because it locks the catalog: transactions that need a new lane wait for this commit.
    endings.stream()
        .filter(ending -> ending.outcome() instanceof Outcome.Dead(_, var pauses) && pauses)
        .filter(ending -> states.containsKey(ending.id()))
        .forEach(ending -> pauseType(tx, ending));
    return new Written(states);
  }

  private void bury(Tx tx, List<EndedTask> dead) {
    tx.update(
        BURY,
        Column.ints(dead, each -> catalog.lane(each.lane()).tenant().value()),
        Column.uuids(dead, each -> each.id().value()),
        Column.dates(dead, each -> each.partition().day()),
        Column.texts(dead, each -> catalog.lane(each.lane()).type()),
        Column.texts(dead, each -> requireNonNull(each.letter()).error()),
        Column.texts(dead, EndedTask::failure),
        Column.shorts(dead, each -> requireNonNull(each.letter()).status()),
        Column.texts(dead, each -> requireNonNull(each.letter()).key()));
  }

  private void pauseType(Tx tx, ClaimEnding ending) {
    String type = Objects.requireNonNull(ending.type());
    Types.pauseBecause(tx, ending.tenant(), type, "HTTP 410 from target");
    tx.afterCommit(catalog::refresh);
  }

  private void countAndWake(EndedTask done) {
    counters.addEnd(
        done.end(), done.failure() == null ? null : FailureKind.valueOf(done.failure()));
    if (done.readyAt() != null) {
      agenda.onReady(done.partition(), done.lane(), done.readyAt());
    }
    if (done.keyed()) {
      Lane lane = catalog.lane(done.lane());
      // Tasks that wait for this key were skipped, so the lane is read again from its head.
      catalog
          .lanes(lane.tenant(), lane.type())
          .forEach(each -> agenda.onReady(done.partition(), each.id(), Instant.EPOCH));
    }
  }

  private static List<EndedTask> finishInPartition(
      Tx tx, Partition partition, List<ClaimEnding> endings, String who, boolean lapsed) {
    List<ClaimEnding> completed = new ArrayList<>(endings.size());
    List<ClaimEnding> others = new ArrayList<>();
    endings.forEach(ending -> (ending.isCompleted() ? completed : others).add(ending));
    List<EndedTask> done = new ArrayList<>(endings.size());
    done.addAll(Completions.write(tx, partition, completed, who));
    done.addAll(finish(tx, partition, others, who, lapsed));
    return done;
  }

  private static List<EndedTask> finish(
      Tx tx, Partition partition, List<ClaimEnding> endings, String who, boolean lapsed) {
    if (endings.isEmpty()) {
      return List.of();
    }
    endings.sort(BY_ID);
    return tx.query(
        Sql.forPartition(FINISH, partition),
        row -> done(row, partition, row.getString("failure"), letter(row)),
        Column.ints(endings, e -> e.tenant().value()),
        Column.uuids(endings, e -> e.id().value()),
        Column.ints(endings, e -> e.lease().fence()),
        Column.uuids(endings, e -> e.lease().claim()),
        Column.texts(endings, e -> e.outcome().nextState().name()),
        Column.instants(endings, ClaimEnding::readyAt),
        Column.booleans(endings, e -> e.outcome() instanceof Outcome.Released),
        Column.texts(endings, e -> e.failure() == null ? null : e.failure().kind().name()),
        Column.shorts(endings, ClaimEnding::status),
        Column.texts(endings, e -> e.failure() == null ? null : e.failure().message()),
        Column.texts(endings, ClaimEnding::output),
        Column.texts(endings, ClaimEnding::progress),
        Column.texts(endings, ClaimEnding::type),
        Column.texts(endings, ClaimEnding::request),
        Column.booleans(endings, ClaimEnding::blamed),
        Column.booleans(endings, ClaimEnding::isCleared),
        lapsed,
        who);
  }

  private static EndedTask.@Nullable Letter letter(ResultSet row) throws SQLException {
    return row.getString("state").equals(TaskState.DEAD.name())
        ? new EndedTask.Letter(
            Sql.integer(row, "status"), row.getString("error"), row.getString("key"))
        : null;
  }

  private static EndedTask done(
      ResultSet row,
      Partition partition,
      @Nullable String failure,
      EndedTask.@Nullable Letter letter)
      throws SQLException {
    return new EndedTask(
        new TaskId(Sql.uuid(row, "id")),
        partition,
        row.getInt("lane"),
        TaskState.valueOf(row.getString("state")),
        Sql.instant(row, "ready_at"),
        row.getInt("attempt"),
        row.getBoolean("keyed"),
        row.getBoolean("released"),
        failure,
        row.getString("callback"),
        letter);
  }
}
