package carillon.store.tasks;

import carillon.store.db.Sql;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** SQL for the conditions of a {@link TaskFilter} that no index supports. */
public final class FilterSql {

  /** A text search covers this many characters of a response: enough for an error message. */
  public static final int SEARCHED_RESPONSE_CHARS = 1_000;

  /** The cost of a row whose response is searched, in rows: it may have to be read from TOAST. */
  private static final int RESPONSE_COST = 5;

  /** The first common table expression of a statement. */
  public static final String CTE =
      """
      f AS MATERIALIZED (
          SELECT ?::carillon.task_state AS state, ?::text AS schedule, ?::timestamptz AS due_after,
                 ?::timestamptz AS due_before, ?::text AS error, ?::jsonb AS metadata
      )\
      """;

  // The output is the response that came with the error, unless the task has completed since.
  private static final String HAS_TEXT =
      """
      (strpos(lower(t.error), lower(f.error)) > 0
              OR (t.state <> 'COMPLETED' AND strpos(lower(left(t.output, %d)), lower(f.error)) > 0))\
      """
          .formatted(SEARCHED_RESPONSE_CHARS);

  /** Whether the task {@code t} matches. Its columns have the values of the view every_task. */
  public static final String MATCHES =
      """
      ((f.state IS NULL OR t.state = f.state)
          AND (f.schedule IS NULL OR t.schedule = f.schedule)
          AND (f.due_after IS NULL OR t.due_at >= f.due_after)
          AND (f.due_before IS NULL OR t.due_at < f.due_before)
          AND (f.error IS NULL OR %s)
          AND (f.metadata IS NULL OR t.metadata @> f.metadata)) IS TRUE\
      """
          .formatted(HAS_TEXT);

  /** The columns for {@link #MATCHES} of a row {@code t} of carillon.task that is not running. */
  static final String COLUMNS = "t.state, t.schedule, t.due_at, t.error, t.output, t.metadata";

  /** The columns for {@link #MATCHES} of a row {@code t} of carillon.task that a claim holds. */
  static final String COLUMNS_IF_RUNNING =
      """
      'RUNNING'::carillon.task_state AS state, t.schedule, t.due_at, NULL::text AS error, NULL::text AS output,
                 t.metadata\
      """;

  private FilterSql() {}

  /**
   * How many rows one statement may examine: fewer for a text search, because long responses are
   * stored outside the row.
   */
  static int limit(TaskFilter filter, int usual) {
    return filter.error() == null ? usual : Math.max(1, usual / RESPONSE_COST);
  }

  /** The arguments of a statement that starts with {@link #CTE}: the filter's, then the others. */
  public static @Nullable Object[] arguments(TaskFilter filter, @Nullable Object... others) {
    List<@Nullable Object> all = new ArrayList<>();
    all.add(filter.state() == null ? null : filter.state().name());
    all.add(filter.schedule());
    all.add(filter.dueAfter());
    all.add(filter.dueBefore());
    all.add(filter.error());
    all.add(Sql.json(filter.metadata()));
    all.addAll(Arrays.asList(others));
    return all.toArray();
  }
}
