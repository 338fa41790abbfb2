package carillon.store.deadletters;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.catalog.Audit;
import carillon.store.db.Column;
import carillon.store.db.DbClock;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.deadletters.DeadLetters.Position;
import carillon.store.tasks.DueListener;
import carillon.store.tasks.TaskRedrives;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import tools.jackson.databind.node.JsonNodeFactory;

/** Takes the steps of a redrive, each in a transaction that holds the lock of its row. */
final class RedriveSteps {

  static final int BATCH = 1_000;

  /**
   * A rate limit is spread over steps of at least 200 ms. Any five in a row redrive as many tasks
   * as the rate, so no second exceeds it, and 200 per second are not one burst.
   */
  private static final int STEPS_PER_SECOND = 5;

  private static final Duration STEP = Duration.ofSeconds(1).dividedBy(STEPS_PER_SECOND);

  private final TaskRedrives tasks;

  RedriveSteps(DueListener due) {
    this.tasks = new TaskRedrives(due);
  }

  /** Takes the next step if it is due. Returns the wait until the one after it, empty if none. */
  Optional<Duration> step(Tx tx, RedriveRow row) {
    return switch (row.redrive().state()) {
      case RUNNING -> stepForward(tx, row);
      case UNDOING -> RedriveUndo.step(tx, row);
      case DONE, STOPPED, UNDONE -> Optional.empty();
    };
  }

  private Optional<Duration> stepForward(Tx tx, RedriveRow row) {
    Integer rate = row.redrive().rate();
    if (rate == null) {
      return redriveBatch(tx, row, BATCH) ? Optional.empty() : Optional.of(Duration.ZERO);
    }
    if (row.steppedAt() != null) {
      // Read under the lock, because waiting for it means that another node took a step.
      Duration early = Duration.between(DbClock.now(tx), row.steppedAt().plus(STEP));
      if (early.isPositive()) {
        return Optional.of(early);
      }
    }
    long share =
        (row.steps() + 1) * rate / STEPS_PER_SECOND - row.steps() * rate / STEPS_PER_SECOND;
    return redriveBatch(tx, row, (int) share) ? Optional.empty() : Optional.of(STEP);
  }

  private static final String RECORD =
      """
      /* RedriveSteps.record */
      WITH letter AS MATERIALIZED (
          -- No join: the planner would choose a nested loop over all pairs instead of sorting by id.
          SELECT t.*,
                 (SELECT d.died_at FROM carillon.dead_letter d WHERE d.tenant = t.tenant AND d.task = t.id) AS died_at,
                 (SELECT d.kept_from FROM carillon.dead_letter d WHERE d.tenant = t.tenant AND d.task = t.id) AS kept_from
          FROM carillon.task_{partition} t
          WHERE t.tenant = ?
            AND t.id = ANY (?)
            AND t.state = 'DEAD'
          ORDER BY t.id
          FOR UPDATE OF t -- a redrive, an edit or a purge by hand comes first or waits
      )
      INSERT INTO carillon.redriven (
          redrive, n, tenant, task, partition, fence, attempt, crashes, due_at, expires_at, finished_at, died_at, kept_from)
      SELECT ?, ? + row_number() OVER (ORDER BY died_at, id), tenant, id, partition, fence, attempt, crashes, due_at,
             expires_at, finished_at, coalesce(died_at, finished_at), coalesce(kept_from, finished_at)
      FROM letter
      RETURNING task
      """;

  private static final String COUNT_LETTERS =
      """
      /* RedriveSteps.countLetters */
      SELECT count(*) AS letters
      FROM carillon.dead_letter
      WHERE tenant = ?
        AND task = ANY (?)
      """;

  private static final String ADVANCE =
      """
      /* RedriveSteps.advance */
      UPDATE carillon.redrive
      SET redriven = redriven + ?,
          refused = refused + ?,
          matched = greatest(matched, redriven + refused + ?), -- some may have died during the count
          after_at = ?,
          after_task = ?,
          steps = steps + 1,
          stepped_at = clock_timestamp(),
          at_least = at_least AND NOT ?,
          state = CASE WHEN ? THEN 'DONE' ELSE state END,
          ended_at = CASE WHEN ? THEN clock_timestamp() END
      WHERE id = ?
      """;

  /** Redrives the next batch, and returns whether it was the last. */
  boolean redriveBatch(Tx tx, RedriveRow row, int limit) {
    Redrive redrive = row.redrive();
    TenantId tenant = row.tenant();
    Page<Position, Position> page =
        limit == 0
            ? new Page<>(List.of(), row.after() == null ? before(row) : row.after())
            : LetterSearch.page(
                tx, tenant, row.filter(), LetterSearch.Order.OLDEST_FIRST, row.after(), limit);
    Set<TaskId> redriven = new HashSet<>();
    DeadLetters.byPartition(page.items())
        .forEach(
            (partition, letters) -> {
              List<TaskId> recorded =
                  tx.query(
                      Sql.forPartition(RECORD, partition),
                      inserted -> new TaskId(Sql.uuid(inserted, "task")),
                      tenant,
                      Column.uuids(letters, letter -> letter.id().value()),
                      redrive.id(),
                      redrive.redriven() + redriven.size());
              redriven.addAll(
                  tasks.redrive(
                      tx, tenant, partition, recorded, redrive.who(), "redrive " + redrive.id()));
            });
    long refused = deleteLetters(tx, tenant, page.items(), redriven);
    boolean isOver = page.next() == null;
    Position end = isOver ? row.after() : page.next();
    tx.update(
        ADVANCE,
        redriven.size(),
        refused,
        redriven.size() + refused,
        end == null ? null : end.diedAt(),
        end == null ? null : end.id(),
        isOver,
        isOver,
        isOver,
        redrive.id());
    if (isOver) {
      Audit.record(
          tx,
          tenant,
          redrive.who(),
          "redrive.done",
          redrive.id().toString(),
          JsonNodeFactory.instance
              .objectNode()
              .put("redriven", redrive.redriven() + redriven.size())
              .put("refused", redrive.refused() + refused)
              .toString());
    }
    return isOver;
  }

  /** A position before all letters that the filter may select. */
  private static Position before(RedriveRow row) {
    Instant first = row.filter().diedAfter();
    return new Position(
        first == null ? Instant.parse("0001-01-01T00:00:00Z") : first, new TaskId(new UUID(0, 0)));
  }

  /**
   * Runs last in the transaction, because it locks groups to which every other death adds. Returns
   * how many letters remain because their task was not dead: those cannot be redriven.
   */
  private static long deleteLetters(
      Tx tx, TenantId tenant, List<Position> found, Set<TaskId> redriven) {
    if (!redriven.isEmpty()) {
      TaskRedrives.deleteLetters(tx, tenant, redriven);
    }
    if (redriven.size() == found.size()) {
      return 0;
    }
    List<TaskId> others =
        found.stream().map(Position::id).filter(id -> !redriven.contains(id)).toList();
    return tx.query(
            COUNT_LETTERS,
            row -> row.getLong("letters"),
            tenant,
            Column.uuids(others, TaskId::value))
        .getFirst();
  }
}
