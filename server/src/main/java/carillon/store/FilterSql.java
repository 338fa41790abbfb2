package carillon.store;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The part of a {@link TaskFilter} that no index answers, as SQL. */
final class FilterSql {

  /** The first part of a statement's WITH. */
  static final String CTE =
      """
      f AS MATERIALIZED (
          SELECT ?::carillon.task_state AS state, ?::text AS schedule, ?::timestamptz AS due_after,
                 ?::timestamptz AS due_before, ?::text AS error, ?::jsonb AS metadata
      )\
      """;

  /** Whether the task {@code t} matches. */
  static final String MATCHES =
      """
      ((f.state IS NULL OR t.state = f.state)
          AND (f.schedule IS NULL OR t.schedule = f.schedule)
          AND (f.due_after IS NULL OR t.due_at >= f.due_after)
          AND (f.due_before IS NULL OR t.due_at < f.due_before)
          AND (f.error IS NULL OR strpos(lower(t.error), lower(f.error)) > 0)
          AND (f.metadata IS NULL OR t.metadata @> f.metadata)) IS TRUE\
      """;

  private FilterSql() {}

  /** The arguments of a statement that begins with {@link #CTE}: the filter's, then the others. */
  static @Nullable Object[] arguments(TaskFilter filter, @Nullable Object... others) {
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
