package carillon.store.tasks;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.catalog.CatalogRows;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Lists running tasks. It finds them through their claims, because their rows look like those of
 * waiting tasks: the cost does not depend on the number of other tasks.
 */
public final class RunningTasks {

  private static final int CHUNK = 2_000;

  /** A page that has examined this many claimed tasks ends early. */
  private static final int MAX_EXAMINED = 20_000;

  private final Db db;
  private final TaskReader reader;

  RunningTasks(Db db, TaskReader reader) {
    this.db = db;
    this.reader = reader;
  }

  private record Held(UUID task, Partition partition, UUID claim, int fence) {}

  /** Sorts before every claim, so that the page after a task does not return that task again. */
  private static final UUID NO_CLAIM = new UUID(0, 0);

  private static final Held END =
      new Held(new UUID(-1L, -1L), new Partition(LocalDate.of(9999, 1, 1)), NO_CLAIM, 0);

  public static final String HELD =
      """
      /* RunningTasks.held */
      SELECT h.id, c.partition, c.id AS claim, h.fence
      FROM carillon.claim c
      CROSS JOIN LATERAL unnest(c.tenants, c.tasks, c.fences) AS h (tenant, id, fence)
      WHERE h.tenant = ?
        AND (h.id, c.id) < (?, ?)
      ORDER BY h.id DESC, c.id DESC -- an older claim may list the task too
      LIMIT ?
      """;

  // A claim still lists tasks that have ended: then the fence of the task is not below the claim's.
  public static final String TASKS =
      """
      /* RunningTasks.tasks */
      WITH %s
      SELECT %s, CASE WHEN ?::boolean THEN t.payload END AS payload
      FROM f, unnest(?::uuid[], ?::date[], ?::uuid[], ?::int[]) WITH ORDINALITY AS n (task, partition, claim, fence, n)
      CROSS JOIN LATERAL (
          SELECT %s
          FROM carillon.task t
          CROSS JOIN carillon.claim c
          WHERE t.tenant = ?
            AND t.id = n.task
            AND t.partition = n.partition
            AND t.state = 'PENDING'
            AND t.fence = n.fence - 1
            AND c.id = n.claim
          LIMIT 1
      ) t
      WHERE (?::int[] IS NULL OR t.lane = ANY (?::int[]))
        AND %s
      ORDER BY n.n
      LIMIT ?
      """
          .formatted(
              FilterSql.CTE, TaskReader.COLUMNS, TaskReader.COLUMNS_IN_CLAIM, FilterSql.MATCHES);

  /** Latest due time first; {@code before} is the last id of the previous page. */
  Page<TaskView, TaskId> list(
      TenantId tenant, TaskFilter filter, int limit, @Nullable TaskId before, boolean withPayload) {
    return db.inTransaction(tx -> page(tx, tenant, filter, limit, before, withPayload));
  }

  private Page<TaskView, TaskId> page(
      Tx tx,
      TenantId tenant,
      TaskFilter filter,
      int limit,
      @Nullable TaskId before,
      boolean withPayload) {
    Column lanes = filter.type() == null ? null : CatalogRows.lanes(tx, tenant, filter.type());
    Held last = before == null ? END : new Held(before.value(), before.partition(), NO_CLAIM, 0);
    List<TaskView> items = new ArrayList<>();
    for (int examined = 0; examined < MAX_EXAMINED; examined += CHUNK) {
      List<Held> held = held(tx, tenant, last);
      items.addAll(
          tx.query(
              TASKS,
              reader::view,
              FilterSql.arguments(
                  filter,
                  withPayload,
                  Column.uuids(held, Held::task),
                  Column.dates(held, each -> each.partition().day()),
                  Column.uuids(held, Held::claim),
                  Column.ints(held, Held::fence),
                  tenant,
                  lanes,
                  lanes,
                  limit - items.size())));
      if (items.size() == limit) {
        return new Page<>(items, items.getLast().id());
      }
      if (held.size() < CHUNK) {
        return new Page<>(items, null);
      }
      last = held.getLast();
    }
    return new Page<>(items, new TaskId(last.task()));
  }

  private static List<Held> held(Tx tx, TenantId tenant, Held before) {
    return tx.query(
        HELD,
        row ->
            new Held(
                Sql.uuid(row, "id"),
                new Partition(row.getObject("partition", LocalDate.class)),
                Sql.uuid(row, "claim"),
                row.getInt("fence")),
        tenant,
        before.task(),
        before.claim(),
        CHUNK);
  }
}
