package carillon.store.deadletters;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.db.Column;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.deadletters.DeadLetters.Position;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Finds dead letters by a filter. Each way in is a range of one index, compared and sorted by that
 * index's own columns, so that no other index can serve it, whatever the statistics say. What no
 * index decides is looked for in a bounded window, so that no filter makes a query long.
 */
final class LetterSearch {

  /** How many letters one page looks at before it ends early. */
  private static final int REACH = 5_000;

  /** The same where each letter's task has to be looked up. */
  private static final int REACH_OF_TASKS = 1_000;

  private static final int MOST_OF_ALL_GROUPS = 20_000;
  private static final int COUNTED_AT_ONCE = 50_000;

  private static final Position FIRST =
      new Position(Instant.parse("0001-01-01T00:00:00Z"), new TaskId(new UUID(0, 0)));
  private static final Position LAST =
      new Position(Instant.parse("9999-12-31T00:00:00Z"), new TaskId(new UUID(-1L, -1L)));

  private LetterSearch() {}

  /** Which end a walk begins at. */
  enum Order {
    NEWEST_FIRST("DESC"),
    OLDEST_FIRST("ASC");

    private final String sql;

    Order(String sql) {
      this.sql = sql;
    }
  }

  // Numbered from where the walk begins: the last one that a walk may reach is its end.
  private static final String WALK =
      """
      (
              SELECT d.*, row_number() OVER (ORDER BY {order}) AS n
              FROM (
                  SELECT *
                  FROM carillon.dead_letter d
                  WHERE ({columns}) > ({values})
                    AND ({columns}) < ({values}){more}
                  ORDER BY {order}
                  LIMIT ?
              ) d
          ) d\
      """;

  // Fenced off, so that the ids are looked up and nothing else.
  private static final String WALK_OF_IDS =
      """
      (
              SELECT d.*, row_number() OVER (ORDER BY {order}) AS n
              FROM (
                  SELECT *
                  FROM carillon.dead_letter d
                  WHERE d.tenant = ?
                    AND d.task = ANY (?)
                  OFFSET 0
              ) d
              WHERE ({columns}) > ({values})
                AND ({columns}) < ({values})
              ORDER BY {order}
              LIMIT ?
          ) d\
      """;

  private static String walk(LetterPlan plan, Order order) {
    LetterPlan.Way way = plan.way();
    String columns = way.columns + ", d.died_at, d.task";
    String walk =
        (way == LetterPlan.Way.BY_ID ? WALK_OF_IDS : WALK)
            .replace("{order}", columns.replace(",", " " + order.sql + ",") + " " + order.sql)
            .replace("{columns}", columns)
            .replace("{values}", way.values + ", ?, ?")
            .replace("{more}", way == LetterPlan.Way.BY_KEY ? " AND d.key IS NOT NULL" : "");
    return way == LetterPlan.Way.BY_KIND
        ? "unnest(?::text[], ?::text[]) AS g (type, fingerprint)\n    CROSS JOIN LATERAL " + walk
        : walk;
  }

  private static void addWalk(
      List<@Nullable Object> arguments,
      LetterPlan plan,
      DeadLetterFilter filter,
      Position after,
      Position before,
      int reach) {
    switch (plan.way()) {
      case BY_KIND -> {
        arguments.add(Column.texts(plan.kinds(), LetterPlan.Kind::type));
        arguments.add(Column.texts(plan.kinds(), LetterPlan.Kind::fingerprint));
      }
      case BY_ID -> {
        arguments.addAll(plan.prefix());
        arguments.add(Column.uuids(filter.ids(), TaskId::value));
      }
      case BY_AGE, BY_TYPE, BY_KEY -> {}
    }
    for (Position bound : List.of(after, before)) {
      arguments.addAll(plan.prefix());
      arguments.add(bound.diedAt());
      arguments.add(bound.id());
    }
    arguments.add(reach);
  }

  private static String composed(String statement, LetterPlan plan, Order order) {
    String matches =
        plan.asks() ? "(" + String.join(" AND ", plan.questions()) + ") IS TRUE" : "true";
    return statement
        .replace("{matches}", matches)
        .replace("{walk}", walk(plan, order))
        .replace("{order}", order.sql);
  }

  private static Position start(DeadLetterFilter filter) {
    return filter.diedAfter() == null ? FIRST : new Position(filter.diedAfter(), FIRST.id());
  }

  private static Position end(DeadLetterFilter filter) {
    return filter.diedBefore() == null ? LAST : new Position(filter.diedBefore(), FIRST.id());
  }

  private static final String PAGE =
      """
      /* LetterSearch.page */
      SELECT l.task, l.died_at, l.matches, l.is_end
      FROM (
          SELECT d.task, d.died_at, {matches} AS matches, d.n = ? AS is_end
          FROM {walk}
      ) l
      WHERE l.matches OR l.is_end
      ORDER BY l.died_at {order}, l.task {order}
      LIMIT ?
      """;

  /** A letter that a page looked at; the end is where a walk's reach was over, matching or not. */
  private record Reached(Position at, boolean matches, boolean isEnd) {}

  /** Empty if nothing can match. */
  static Optional<LetterPlan.Composed> compose(
      Tx tx,
      TenantId tenant,
      DeadLetterFilter filter,
      Order order,
      @Nullable Position from,
      int limit) {
    LetterPlan plan = LetterPlan.of(tx, tenant, filter);
    if (plan.way() == LetterPlan.Way.BY_KIND && plan.kinds().isEmpty()) {
      return Optional.empty();
    }
    boolean isForward = order == Order.OLDEST_FIRST;
    int reach = reach(plan, filter, limit);
    List<@Nullable Object> arguments = new ArrayList<>(plan.answers());
    arguments.add(reach);
    addWalk(
        arguments,
        plan,
        filter,
        isForward && from != null ? from : start(filter),
        !isForward && from != null ? from : end(filter),
        reach);
    arguments.add(limit + 1);
    return Optional.of(new LetterPlan.Composed(composed(PAGE, plan, order), arguments));
  }

  /**
   * Some of those that match.
   *
   * @param from where the page before ended; null for the first one
   */
  static Page<Position, Position> page(
      Tx tx,
      TenantId tenant,
      DeadLetterFilter filter,
      Order order,
      @Nullable Position from,
      int limit) {
    List<Reached> reached =
        compose(tx, tenant, filter, order, from, limit)
            .map(page -> tx.query(page.sql(), LetterSearch::reached, page.arguments().toArray()))
            .orElse(List.of());
    List<Position> items = new ArrayList<>();
    for (Reached row : reached) {
      if (row.matches() && items.size() == limit) {
        return new Page<>(items, items.getLast());
      }
      if (row.matches()) {
        items.add(row.at());
      }
      if (row.isEnd()) { // of one walk; nobody knows what it would have met behind this
        return new Page<>(items, row.at());
      }
    }
    return new Page<>(items, null);
  }

  private static Reached reached(ResultSet row) throws SQLException {
    return new Reached(position(row), row.getBoolean("matches"), row.getBoolean("is_end"));
  }

  private static int reach(LetterPlan plan, DeadLetterFilter filter, int limit) {
    if (plan.way() == LetterPlan.Way.BY_ID) {
      return filter.ids().size() + 1; // more than there can be
    }
    int walks = Math.max(1, plan.kinds().size());
    int reach =
        plan.asks()
            ? Math.max(plan.asksTasks() ? REACH_OF_TASKS : REACH, limit)
            : Math.min((limit + 1) * walks, Math.max(MOST_OF_ALL_GROUPS, limit + 1));
    return Math.max(1, reach / walks);
  }

  private static Position position(ResultSet row) throws SQLException {
    return new Position(Sql.requiredInstant(row, "died_at"), new TaskId(Sql.uuid(row, "task")));
  }

  private static final String COUNT =
      """
      /* LetterSearch.count */
      SELECT count(*) FILTER (WHERE l.matches) AS matched,
             (array_agg(l.died_at) FILTER (WHERE l.is_end))[1] AS died_at,
             (array_agg(l.task) FILTER (WHERE l.is_end))[1] AS task
      FROM (
          SELECT d.task, d.died_at, {matches} AS matches, d.n = ? AS is_end
          FROM {walk}
      ) l
      """;

  private record Counted(long matched, @Nullable Position end) {}

  static final String COUNT_BY_GROUPS =
      """
      /* LetterSearch.countByGroups */
      SELECT coalesce(sum(g.letters), 0) AS matched
      FROM carillon.dead_letter_group g
      WHERE g.tenant = ?{more}
      """;

  private static long countByGroups(Tx tx, TenantId tenant, DeadLetterFilter filter) {
    LetterPlan.Questions questions = new LetterPlan.Questions();
    questions.ask(" AND g.type = ?", filter.type());
    questions.ask(" AND g.fingerprint = ?", filter.group());
    questions.ask(" AND g.failure = ?", filter.failure() == null ? null : filter.failure().name());
    questions.ask(" AND g.status = ?", filter.status());
    List<@Nullable Object> arguments = new ArrayList<>(List.of(tenant));
    arguments.addAll(questions.arguments);
    return tx.query(
            COUNT_BY_GROUPS.replace("{more}", String.join("", questions.sql)),
            row -> row.getLong("matched"),
            arguments.toArray())
        .getFirst();
  }

  /** How many match, in as many statements as that takes; of those, as many as the patience is. */
  static DeadLetters.Count count(
      Tx tx, TenantId tenant, DeadLetterFilter filter, Duration patience) {
    if (filter.isCountedByGroups()) {
      return new DeadLetters.Count(countByGroups(tx, tenant, filter), false);
    }
    long end = System.nanoTime() + patience.toNanos();
    LetterPlan plan = LetterPlan.of(tx, tenant, filter);
    if (plan.way() != LetterPlan.Way.BY_KIND) {
      return count(tx, plan, filter, end);
    }
    long matched = 0;
    boolean isAtLeast = false;
    for (LetterPlan.Kind kind : plan.kinds()) {
      if (isAtLeast) {
        break;
      }
      DeadLetters.Count some = count(tx, plan.only(kind), filter, end);
      matched += some.matched();
      isAtLeast = some.isAtLeast() || System.nanoTime() - end >= 0;
    }
    return new DeadLetters.Count(matched, isAtLeast);
  }

  private static DeadLetters.Count count(Tx tx, LetterPlan plan, DeadLetterFilter filter, long end) {
    long matched = 0;
    Position from = start(filter);
    do {
      List<@Nullable Object> arguments = new ArrayList<>(plan.answers());
      int reach = plan.asksTasks() ? REACH : COUNTED_AT_ONCE;
      arguments.add(reach);
      addWalk(arguments, plan, filter, from, end(filter), reach);
      Counted counted =
          tx.query(
                  composed(COUNT, plan, Order.OLDEST_FIRST),
                  LetterSearch::counted,
                  arguments.toArray())
              .getFirst();
      matched += counted.matched();
      from = counted.end();
    } while (from != null && System.nanoTime() - end < 0);
    return new DeadLetters.Count(matched, from != null);
  }

  private static Counted counted(ResultSet row) throws SQLException {
    UUID end = Sql.uuid(row, "task");
    return new Counted(row.getLong("matched"), end == null ? null : position(row));
  }
}
