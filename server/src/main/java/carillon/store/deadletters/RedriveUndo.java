package carillon.store.deadletters;

import carillon.model.Partition;
import carillon.store.catalog.Audit;
import carillon.store.db.Column;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.time.Duration;
import java.time.LocalDate;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import tools.jackson.databind.node.JsonNodeFactory;

/** Undoes a redrive: its tasks that have not been claimed since become dead letters again. */
final class RedriveUndo {

  private RedriveUndo() {}

  private static final String LAST_REDRIVEN =
      """
      /* RedriveUndo.lastRedriven */
      SELECT n, partition
      FROM carillon.redriven
      WHERE redrive = ?
      ORDER BY n DESC
      LIMIT ?
      """;

  // A task whose first attempt since it was redriven has ended has a higher fence.
  private static final String LOCK =
      """
      /* RedriveUndo.lock */
      SELECT FROM carillon.redriven r
      JOIN carillon.task_{partition} t ON t.tenant = r.tenant AND t.id = r.task
      WHERE r.redrive = ?
        AND r.n >= ?
        AND r.partition = ?
        AND t.state = 'PENDING'
        AND t.fence = r.fence
      ORDER BY r.n
      FOR UPDATE OF t
      """;

  // Under the row lock, a task either has its row in the queue, or it has been claimed since it was
  // redriven. A statement of its own: the snapshot of LOCK is older than the locks that it waited
  // for. Rows of the queue are found one by one: with old statistics, a join may read all of them.
  private static final String RETURN_TO_DEAD =
      """
      /* RedriveUndo.returnToDead */
      WITH waiting AS MATERIALIZED (
          SELECT q.row_id, t.tenant, t.id, t.partition, t.lane, t.fence, t.error, t.failure, t.status, t.key, r.attempt,
                 r.crashes, r.due_at, r.expires_at, r.finished_at, r.died_at, r.kept_from
          FROM carillon.redriven r
          JOIN carillon.task_{partition} t ON t.tenant = r.tenant AND t.id = r.task
          CROSS JOIN LATERAL (
              SELECT q.ctid AS row_id
              FROM carillon.queue_{partition} q
              WHERE q.lane = t.lane
                AND q.ready_at = t.ready_at
                AND q.id = t.id
              FOR UPDATE -- waits for a claim in progress
          ) q
          WHERE r.redrive = ?
            AND r.n >= ?
            AND r.partition = ?
            AND t.state = 'PENDING'
            AND t.fence = r.fence
      ), back AS (
          DELETE FROM carillon.queue_{partition} q
          USING waiting
          WHERE q.ctid = waiting.row_id
          RETURNING waiting.*
      ), undone AS (
          UPDATE carillon.task_{partition} t
          SET state = 'DEAD',
              ready_at = NULL,
              due_at = back.due_at,
              expires_at = back.expires_at,
              attempt = back.attempt,
              crashes = back.crashes,
              finished_at = back.finished_at,
              version = t.version + 1
          FROM back
          WHERE t.tenant = back.tenant
            AND t.id = back.id
            AND t.state = 'PENDING'
            AND t.fence = back.fence
      ), history AS ( -- the row holds the attempt again
          DELETE FROM carillon.attempt_{partition} a
          USING back
          WHERE a.tenant = back.tenant
            AND a.task = back.id
            AND a.fence = back.fence
            AND a.outcome = 'DEAD'
      ), trail AS (
          INSERT INTO carillon.transition_{partition} (tenant, task, partition, at, from_state, to_state, fence, who, reason)
          SELECT tenant, id, partition, clock_timestamp(), 'PENDING', 'DEAD', fence, ?, ?
          FROM back
      ), letter AS (
          INSERT INTO carillon.dead_letter (tenant, task, partition, type, died_at, kept_from, error, failure, status, key)
          SELECT tenant, id, partition, (SELECT l.type FROM carillon.lane l WHERE l.id = back.lane), died_at, kept_from, error,
                 failure, status, key
          FROM back
          RETURNING type, fingerprint
      )
      SELECT type, fingerprint, count(*) AS letters
      FROM letter
      GROUP BY type, fingerprint
      """;

  // The letters died only once.
  private static final String UNCOUNT_DEATHS =
      """
      /* RedriveUndo.uncountDeaths */
      UPDATE carillon.dead_letter_group g
      SET deaths = g.deaths - f.letters
      FROM unnest(?::text[], ?::text[], ?::bigint[]) AS f (type, fingerprint, letters)
      WHERE g.tenant = ?
        AND g.type = f.type
        AND g.fingerprint = f.fingerprint
      """;

  private static final String DELETE_REDRIVEN =
      """
      /* RedriveUndo.deleteRedriven */
      DELETE FROM carillon.redriven
      WHERE redrive = ?
        AND n >= ?
      """;

  private static final String RETREAT =
      """
      /* RedriveUndo.retreat */
      UPDATE carillon.redrive
      SET undone = undone + ?,
          stepped_at = clock_timestamp(),
          state = CASE WHEN ? THEN 'UNDONE' ELSE state END,
          ended_at = CASE WHEN ? THEN clock_timestamp() END
      WHERE id = ?
      """;

  private record Redriven(long n, Partition partition) {}

  private record Returned(String type, String fingerprint, long letters) {}

  /**
   * Undoes the batch that was redriven last. Returns the wait until the next step, empty if none.
   */
  static Optional<Duration> step(Tx tx, RedriveRow row) {
    Redrive redrive = row.redrive();
    List<Redriven> last =
        tx.query(
            LAST_REDRIVEN,
            r ->
                new Redriven(
                    r.getLong("n"), new Partition(r.getObject("partition", LocalDate.class))),
            redrive.id(),
            RedriveSteps.BATCH);
    long undone = 0;
    if (!last.isEmpty()) {
      long from = last.getLast().n();
      Set<Partition> partitions = new HashSet<>();
      last.forEach(each -> partitions.add(each.partition()));
      for (Partition partition : DeadLetters.existing(tx, partitions).stream().sorted().toList()) {
        undone += returnToDead(tx, row, partition, from);
      }
      tx.update(DELETE_REDRIVEN, redrive.id(), from);
    }
    boolean isOver = last.size() < RedriveSteps.BATCH;
    tx.update(RETREAT, undone, isOver, isOver, redrive.id());
    if (isOver) {
      Audit.record(
          tx,
          row.tenant(),
          undoneBy(row),
          "redrive.undone",
          redrive.id().toString(),
          JsonNodeFactory.instance
              .objectNode()
              .put("redriven", redrive.redriven())
              .put("undone", redrive.undone() + undone)
              .toString());
    }
    return isOver ? Optional.empty() : Optional.of(Duration.ZERO);
  }

  private static String undoneBy(RedriveRow row) {
    return row.undoneBy() == null ? row.redrive().who() : row.undoneBy();
  }

  private static long returnToDead(Tx tx, RedriveRow row, Partition partition, long from) {
    tx.query(Sql.forPartition(LOCK, partition), r -> true, row.redrive().id(), from, partition);
    List<Returned> returned =
        tx.query(
            Sql.forPartition(RETURN_TO_DEAD, partition),
            r ->
                new Returned(r.getString("type"), r.getString("fingerprint"), r.getLong("letters")),
            row.redrive().id(),
            from,
            partition,
            undoneBy(row),
            "redrive " + row.redrive().id() + " undone");
    if (!returned.isEmpty()) {
      tx.update(
          UNCOUNT_DEATHS,
          Column.texts(returned, Returned::type),
          Column.texts(returned, Returned::fingerprint),
          Column.longs(returned, Returned::letters),
          row.tenant());
    }
    return returned.stream().mapToLong(Returned::letters).sum();
  }
}
