package carillon.store.tasks;

import carillon.store.db.Sql;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The part of a {@link TaskFilter} that no index answers, as SQL. */
public final class FilterSql {

  /** Of an answer, so many characters are searched for a text: enough to name what went wrong. */
  public static final int ANSWER_CHARS = 1_000;

  /** A row whose answer may have to be fetched counts as so many. */
  private static final int ROWS_FOR_AN_ANSWER = 5;

  /** The first part of a statement's WITH. */
  public static final String CTE =
      """
      f AS MATERIALIZED (
          SELECT ?::carillon.task_state AS state, ?::text AS schedule, ?::timestamptz AS due_after,
                 ?::timestamptz AS due_before, ?::text AS error, ?::jsonb AS metadata
      )\
      """;

  // Beside an error stands what came back with it, unless the task has completed since.
  private static final String HAS_TEXT =
      """
      (strpos(lower(t.error), lower(f.error)) > 0
              OR (t.state <> 'COMPLETED' AND strpos(lower(left(t.output, %d)), lower(f.error)) > 0))\
      """
          .formatted(ANSWER_CHARS);

  /** Whether the task {@code t} matches. */
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

  private FilterSql() {}

  /**
   * How many rows one statement may look at: fewer for a text, because a long answer lies apart
   * from its row.
   */
  static int atOnce(TaskFilter filter, int usual) {
    return filter.error() == null ? usual : Math.max(1, usual / ROWS_FOR_AN_ANSWER);
  }

  /** The arguments of a statement that begins with {@link #CTE}: the filter's, then the others. */
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
