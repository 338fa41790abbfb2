package carillon.store.schedules;

import carillon.model.Partition;
import carillon.model.TenantId;
import carillon.store.catalog.CatalogRows;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.FilterSql;
import carillon.store.tasks.TaskFilter;
import carillon.store.tasks.TaskReader;
import carillon.store.tasks.TaskView;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Lists the tasks that one schedule created, found through its fires, so that the cost does not
 * depend on the number of other tasks.
 */
final class ScheduleTasks {

  private static final int BATCH = 1_000;

  private final Db db;
  private final TaskReader reader;

  ScheduleTasks(Db db, TaskReader reader) {
    this.db = db;
    this.reader = reader;
  }

  private record Fire(
      RecordedFire.Position position, @Nullable UUID task, @Nullable Partition partition) {}

  private static final String SCHEDULE =
      """
      /* ScheduleTasks.schedule */
      SELECT id
      FROM carillon.schedule
      WHERE tenant = ?
        AND name = ?
      """;

  static final String FIRES =
      """
      /* ScheduleTasks.fires */
      SELECT at, local, task, partition
      FROM carillon.schedule_fire
      WHERE schedule = ?
        AND (at, local) < (?, ?)
      ORDER BY at DESC, local DESC
      LIMIT ?
      """;

  // In the order of the fires, so that it stops as soon as there are enough.
  static final String TASKS =
      """
      /* ScheduleTasks.tasks */
      WITH %s
      SELECT %s, CASE WHEN ?::boolean THEN t.payload END AS payload, n.n
      FROM f, unnest(?::uuid[], ?::date[]) WITH ORDINALITY AS n (task, partition, n)
      CROSS JOIN LATERAL (
          SELECT *
          FROM carillon.every_task t
          WHERE t.tenant = ?
            AND t.id = n.task
            AND t.partition = n.partition
          LIMIT 1
      ) t
      WHERE (?::int[] IS NULL OR t.lane = ANY (?::int[]))
        AND %s
      ORDER BY n.n
      LIMIT ?
      """
          .formatted(FilterSql.CTE, TaskReader.COLUMNS, FilterSql.MATCHES);

  /** Latest nominal time first; empty if the tenant has no such schedule. */
  Optional<Page<TaskView, RecordedFire.Position>> list(
      TenantId tenant,
      TaskFilter filter,
      int limit,
      RecordedFire.@Nullable Position before,
      boolean withPayload) {
    return db.inTransaction(
        tx ->
            tx.queryOne(SCHEDULE, row -> row.getLong("id"), tenant, filter.schedule())
                .map(schedule -> page(tx, tenant, schedule, filter, limit, before, withPayload)));
  }

  private record Found(TaskView task, int number) {}

  private Page<TaskView, RecordedFire.Position> page(
      Tx tx,
      TenantId tenant,
      long schedule,
      TaskFilter filter,
      int limit,
      RecordedFire.@Nullable Position before,
      boolean withPayload) {
    RecordedFire.Position position = before == null ? RecordedFire.Position.END : before;
    Column lanes = filter.type() == null ? null : CatalogRows.lanes(tx, tenant, filter.type());
    List<TaskView> items = new ArrayList<>();
    for (int read = 0; read < FireHistory.MAX_READ_PER_PAGE; read += BATCH) {
      List<Fire> fires =
          tx.query(FIRES, ScheduleTasks::fire, schedule, position.at(), position.local(), BATCH);
      List<Fire> withTask = fires.stream().filter(fire -> fire.task() != null).toList();
      List<Found> found =
          tx.query(
              TASKS,
              row -> new Found(reader.view(row), row.getInt("n")),
              FilterSql.arguments(
                  filter,
                  withPayload,
                  Column.uuids(withTask, Fire::task),
                  Column.dates(
                      withTask, fire -> fire.partition() == null ? null : fire.partition().day()),
                  tenant,
                  lanes,
                  lanes,
                  limit - items.size()));
      found.forEach(each -> items.add(each.task()));
      if (items.size() == limit && !found.isEmpty()) {
        return new Page<>(items, withTask.get(found.getLast().number() - 1).position());
      }
      if (fires.size() < BATCH) {
        return new Page<>(items, null);
      }
      position = fires.getLast().position();
    }
    return new Page<>(items, position);
  }

  private static Fire fire(ResultSet row) throws SQLException {
    LocalDate partition = row.getObject("partition", LocalDate.class);
    return new Fire(
        new RecordedFire.Position(
            Sql.requiredInstant(row, "at"), row.getObject("local", LocalDateTime.class)),
        row.getObject("task", UUID.class),
        partition == null ? null : new Partition(partition));
  }
}
