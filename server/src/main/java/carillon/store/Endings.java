package carillon.store;

import static carillon.store.Sql.column;

import carillon.model.Attempted;
import carillon.model.ClaimedTask;
import carillon.model.Failure;
import carillon.model.Lane;
import carillon.model.Lease;
import carillon.model.Outcome;
import carillon.model.Slot;
import carillon.model.TaskId;
import carillon.model.TaskState;
import carillon.model.TenantId;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Persists outcomes. Whatever ends a claim goes through the one fenced statement here: the
 * completer's batches, workers' reports and the reaper.
 */
public final class Endings {

  private final Db db;
  private final Catalog catalog;
  private final Agenda agenda;

  private final Map<Ended, LongAdder> counts = new EnumMap<>(Ended.class);

  public Endings(Db db, Catalog catalog, Agenda agenda) {
    this.db = db;
    this.catalog = catalog;
    this.agenda = agenda;
    for (Ended ended : Ended.values()) {
      counts.put(ended, new LongAdder());
    }
  }

  /** How many claims have ended so through this process. */
  public long count(Ended ended) {
    LongAdder count = counts.get(ended);
    return count == null ? 0 : count.sum();
  }

  /**
   * One claim of one task about to end.
   *
   * @param lapsed the holder did not say so, its time ran out: holds only if that is still true
   *     when written
   */
  record Ending(
      TenantId tenant,
      TaskId id,
      String type,
      Lease lease,
      Outcome outcome,
      @Nullable String progress,
      String who,
      boolean lapsed) {

    static Ending of(Attempted attempted, String who) {
      ClaimedTask task = attempted.task();
      return new Ending(
          task.tenant(),
          task.id(),
          task.type(),
          task.lease(),
          attempted.outcome(),
          null,
          who,
          false);
    }

    private @Nullable Failure failure() {
      return switch (outcome) {
        case Outcome.Completed _ -> null;
        case Outcome.RetryAt(_, var failure) -> failure;
        case Outcome.Dead(var failure, _) -> failure;
        case Outcome.Released(var why) -> why;
      };
    }

    private @Nullable Integer status() {
      Failure failure = failure();
      return outcome instanceof Outcome.Completed done
          ? done.status()
          : failure == null ? null : failure.status();
    }

    private @Nullable String output() {
      Failure failure = failure();
      return outcome instanceof Outcome.Completed done
          ? done.output()
          : failure == null ? null : failure.output();
    }

    private @Nullable Instant readyAt() {
      return outcome instanceof Outcome.RetryAt retry ? retry.readyAt() : null;
    }
  }

  private static final String FINISH =
      """
      /* Endings.finish */
      WITH f AS MATERIALIZED (
          SELECT *
          FROM unnest(?::int[], ?::uuid[], ?::int[], ?::uuid[], ?::text[], ?::timestamptz[], ?::boolean[], ?::text[],
                      ?::smallint[], ?::text[], ?::text[], ?::text[], ?::text[], ?::boolean[], ?::text[])
               AS f (tenant, id, fence, claim, state, ready_at, released, failure, status, error, output, progress,
                     who, lapsed, type)
      ), done AS (
          UPDATE carillon.task_{slot} t
          -- A cancel that was requested meanwhile is seen here, under the row's lock, or not at all.
          SET state = CASE WHEN f.state = 'PENDING' AND t.cancel_requested THEN 'CANCELLED'
                           ELSE f.state::carillon.task_state END,
              ready_at = CASE WHEN f.state = 'PENDING' AND NOT t.cancel_requested
                              THEN coalesce(f.ready_at, clock_timestamp()) END,
              finished_at = CASE WHEN f.state = 'PENDING' AND NOT t.cancel_requested THEN NULL
                                 ELSE clock_timestamp() END,
              attempt = CASE WHEN f.released THEN t.attempt - 1 ELSE t.attempt END,
              version = t.version + 1,
              claim = NULL,
              lease_until = NULL,
              status = f.status,
              failure = f.failure,
              error = f.error,
              output = f.output,
              progress = coalesce(f.progress, t.progress)
          FROM f
          WHERE t.tenant = f.tenant
            AND t.id = f.id
            AND t.state = 'RUNNING'
            AND t.fence = f.fence -- the fence: who lost its lease can no longer write
            AND t.claim = f.claim
            AND (NOT f.lapsed OR t.lease_until IS NULL OR t.lease_until < clock_timestamp())
          RETURNING t.tenant, t.id, t.slot, t.lane, t.state, t.ready_at, t.attempt, t.fence, t.leased_by, t.started_at,
                    t.concurrency_key, f.released, f.failure, f.status, f.error, f.output, f.who, f.type
      ), trail AS (
          INSERT INTO carillon.transition_{slot} (tenant, task, slot, at, from_state, to_state, fence, who, reason)
          SELECT tenant, id, slot, clock_timestamp(), 'RUNNING', state, fence, who, failure
          FROM done
      ), kept AS ( -- the row will be used again, so this attempt moves to the history
          INSERT INTO carillon.attempt_{slot} (
              tenant, task, slot, attempt, fence, leased_by, started_at, ended_at, outcome, failure, status, error,
              output)
          SELECT tenant, id, slot, CASE WHEN released THEN attempt + 1 ELSE attempt END, fence, leased_by, started_at,
                 clock_timestamp(), CASE WHEN released THEN 'RELEASED' ELSE 'RETRIED' END, failure, status, error, output
          FROM done
          WHERE state = 'PENDING'
      ), letters AS (
          INSERT INTO carillon.dead_letter (tenant, task, slot, type, died_at, error)
          SELECT tenant, id, slot, type, clock_timestamp(), error
          FROM done
          WHERE state = 'DEAD'
      ), keys AS (
          DELETE FROM carillon.running_key k
          USING done
          WHERE done.concurrency_key IS NOT NULL
            AND k.tenant = done.tenant
            AND k.type = done.type
            AND k.key = done.concurrency_key
            AND k.task = done.id
      )
      SELECT tenant, id, lane, state, ready_at, concurrency_key IS NOT NULL AS keyed, released
      FROM done
      """;

  /**
   * What was written of a batch.
   *
   * @param states of those that were; the others had lost their lease, and nothing was written for
   *     them
   */
  public record Written(Map<TaskId, TaskState> states) {}

  /** How claims end; counted for everybody who ends them here. */
  public enum Ended {
    COMPLETED,
    RETRIED,
    RELEASED,
    DEAD,
    CANCELLED
  }

  private record Done(
      TaskId id,
      Slot slot,
      int lane,
      TaskState state,
      @Nullable Instant readyAt,
      boolean keyed,
      boolean released) {

    private Ended ended() {
      return switch (state) {
        case COMPLETED -> Ended.COMPLETED;
        case DEAD -> Ended.DEAD;
        case CANCELLED -> Ended.CANCELLED;
        case PENDING, RUNNING, EXPIRED -> released ? Ended.RELEASED : Ended.RETRIED;
      };
    }
  }

  private static final String RETIRE =
      """
      /* Endings.retire */
      DELETE FROM carillon.claim
      WHERE id = ANY (?)
      """;

  /**
   * Writes the outcomes of attempts that this node ran, in one transaction.
   *
   * @param over the claims of which nothing is left
   */
  public Written finish(List<Attempted> attempted, Set<UUID> over, String node) {
    return db.inTransaction(
        tx -> {
          Written written = finish(tx, attempted.stream().map(a -> Ending.of(a, node)).toList());
          tx.update(RETIRE, new Sql.Column("uuid", over.toArray()));
          return written;
        });
  }

  Written finish(Tx tx, List<Ending> endings) {
    Map<Slot, List<Ending>> bySlot = new TreeMap<>();
    // In one order everywhere, so that two batches cannot wait for each other.
    List<Ending> ordered = new ArrayList<>(endings);
    ordered.sort(Comparator.comparing(ending -> ending.id().value()));
    ordered.forEach(
        ending -> bySlot.computeIfAbsent(ending.id().slot(), _ -> new ArrayList<>()).add(ending));
    Map<TaskId, TaskState> states = new HashMap<>();
    bySlot.forEach(
        (slot, some) -> {
          List<Done> done = finishInSlot(tx, slot, some);
          done.forEach(one -> states.put(one.id(), one.state()));
          tx.afterCommit(() -> done.forEach(this::note));
        });
    endings.stream()
        .filter(ending -> ending.outcome() instanceof Outcome.Dead(_, var pauses) && pauses)
        .filter(ending -> states.containsKey(ending.id()))
        .forEach(ending -> pauseType(tx, ending));
    return new Written(states);
  }

  private void pauseType(Tx tx, Ending ending) {
    Types.pauseBecause(tx, ending.tenant(), ending.type(), "the target answered 410 Gone");
    tx.afterCommit(catalog::refresh);
  }

  private void note(Done done) {
    LongAdder count = counts.get(done.ended());
    if (count != null) {
      count.increment();
    }
    if (done.readyAt() != null) {
      agenda.note(done.slot(), done.lane(), done.readyAt());
    }
    if (done.keyed()) {
      Lane lane = catalog.lane(done.lane());
      // Whoever waits for the key was stepped over, so look from the head.
      catalog
          .lanes(lane.tenant(), lane.type())
          .forEach(each -> agenda.note(done.slot(), each.id(), Instant.EPOCH));
    }
  }

  private static List<Done> finishInSlot(Tx tx, Slot slot, List<Ending> endings) {
    return tx.query(
        Sql.forSlot(FINISH, slot),
        row ->
            new Done(
                new TaskId(Sql.uuid(row, "id")),
                slot,
                row.getInt("lane"),
                TaskState.valueOf(row.getString("state")),
                Sql.instant(row, "ready_at"),
                row.getBoolean("keyed"),
                row.getBoolean("released")),
        column("int4", endings, e -> e.tenant().value()),
        column("uuid", endings, e -> e.id().value()),
        column("int4", endings, e -> e.lease().fence()),
        column("uuid", endings, e -> e.lease().claim()),
        column("text", endings, e -> e.outcome().nextState().name()),
        column("timestamptz", endings, e -> Sql.text(e.readyAt())),
        column("bool", endings, e -> e.outcome() instanceof Outcome.Released),
        column("text", endings, e -> e.failure() == null ? null : e.failure().kind().name()),
        column("int2", endings, Ending::status),
        column("text", endings, e -> e.failure() == null ? null : e.failure().message()),
        column("text", endings, Ending::output),
        column("text", endings, Ending::progress),
        column("text", endings, Ending::who),
        column("bool", endings, Ending::lapsed),
        column("text", endings, Ending::type));
  }
}
