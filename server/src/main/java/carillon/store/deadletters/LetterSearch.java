package carillon.store.deadletters;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.db.Column;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.deadletters.DeadLetters.Position;
import carillon.store.tasks.FilterSql;
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

  /** A tenant with more groups than this is searched without them. */
  private static final int MOST_GROUPS = 5_000;

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

  /**
   * An index to walk along, by the columns that it has before {@code died_at, task}; each with what
   * it is compared with.
   */
  private enum Way {
    BY_AGE("d.tenant", "?"),
    BY_TYPE("d.tenant, d.type", "?, ?"),
    BY_KEY("d.tenant, d.key", "?, ?"),
    BY_KIND("d.tenant, d.type, d.fingerprint", "?, g.type, g.fingerprint"),
    BY_ID("d.tenant", "?");

    private final String columns;
    private final String values;

    Way(String columns, String values) {
      this.columns = columns;
      this.values = values;
    }
  }

  /** Letters that died of the same thing. */
  private record Kind(String type, String fingerprint) {}

  /** Where to walk along, and what still has to be asked of each letter there. */
  private record Plan(
      Way way,
      List<@Nullable Object> prefix,
      List<Kind> kinds,
      List<String> questions,
      List<@Nullable Object> answers,
      boolean asksTasks) {

    private boolean asks() {
      return !questions.isEmpty();
    }

    private Plan only(Kind kind) {
      return new Plan(way, prefix, List.of(kind), questions, answers, asksTasks);
    }
  }

  private static final class Questions {
    private final List<String> sql = new ArrayList<>();
    private final List<@Nullable Object> arguments = new ArrayList<>();

    private void ask(String question, @Nullable Object argument) {
      if (argument != null) {
        sql.add(question);
        arguments.add(argument);
      }
    }

    /** The same for a question that has it twice. */
    private void askTwice(String question, @Nullable Object argument) {
      ask(question, argument);
      if (argument != null) {
        arguments.add(argument);
      }
    }
  }

  // In this order: whose error has it is not looked up.
  private static final String HAS_TEXT =
      """
      CASE WHEN strpos(lower(d.error), lower(?)) > 0 THEN true
             ELSE (SELECT strpos(lower(left(t.output, %d)), lower(?)) > 0
                   FROM carillon.task t
                   WHERE t.tenant = d.tenant AND t.id = d.task AND t.partition = d.partition) END\
      """
          .formatted(FilterSql.ANSWER_CHARS);

  private static Plan plan(Tx tx, TenantId tenant, DeadLetterFilter filter) {
    Way way = Way.BY_AGE;
    List<@Nullable Object> prefix = new ArrayList<>(List.of(tenant));
    List<Kind> kinds = List.of();
    if (!filter.ids().isEmpty()) {
      way = Way.BY_ID;
    } else if (filter.key() != null) {
      way = Way.BY_KEY;
      prefix.add(filter.key());
    } else {
      Optional<List<Kind>> known =
          filter.isAboutGroups() ? kinds(tx, tenant, filter) : Optional.empty();
      if (known.isPresent()) {
        way = Way.BY_KIND;
        kinds = known.get();
      } else if (filter.type() != null) {
        way = Way.BY_TYPE;
        prefix.add(filter.type());
      }
    }
    boolean typeIsOpen = way == Way.BY_AGE || way == Way.BY_KEY || way == Way.BY_ID;
    Questions questions = new Questions();
    questions.ask("d.type = ?", typeIsOpen ? filter.type() : null);
    if (way != Way.BY_KIND) {
      questions.ask("d.failure = ?", filter.failure() == null ? null : filter.failure().name());
      questions.ask("d.status = ?", filter.status());
      questions.ask("d.fingerprint = ?", filter.group());
    }
    questions.ask("d.key = ?", way == Way.BY_KEY ? null : filter.key());
    questions.askTwice(HAS_TEXT, filter.error());
    // Not EXISTS: that would read all tasks that have such metadata first.
    questions.ask(
        """
        (SELECT t.metadata @> ?::jsonb
            FROM carillon.task t
            WHERE t.tenant = d.tenant AND t.id = d.task AND t.partition = d.partition)\
        """,
        Sql.json(filter.metadata()));
    boolean asksTasks = filter.error() != null || !filter.metadata().isEmpty();
    return new Plan(way, prefix, kinds, questions.sql, questions.arguments, asksTasks);
  }

  private static final String KINDS =
      """
      /* LetterSearch.kinds */
      SELECT g.type, g.fingerprint, g.letters > 0 AND {matches} AS matches
      FROM (
          SELECT *
          FROM carillon.dead_letter_group g
          WHERE {where}
          LIMIT ?
      ) g
      """;

  // One jump for each type that there is.
  private static final String KINDS_OF_FINGERPRINT =
      """
      g.tenant = ?
            AND g.type IN (SELECT l.type FROM carillon.lane l WHERE l.tenant = ?)
            AND g.fingerprint = ?\
      """;

  static Composed composeKinds(TenantId tenant, DeadLetterFilter filter) {
    Questions questions = new Questions();
    questions.ask("g.failure = ?", filter.failure() == null ? null : filter.failure().name());
    questions.ask("g.status = ?", filter.status());
    String where;
    List<@Nullable Object> arguments = new ArrayList<>(questions.arguments);
    arguments.add(tenant);
    if (filter.type() == null && filter.group() != null) {
      where = KINDS_OF_FINGERPRINT;
      arguments.add(tenant);
      arguments.add(filter.group());
    } else {
      where = "g.tenant = ?";
      if (filter.type() != null) {
        where += " AND g.type = ?";
        arguments.add(filter.type());
      }
      if (filter.group() != null) {
        where += " AND g.fingerprint = ?";
        arguments.add(filter.group());
      }
    }
    arguments.add(MOST_GROUPS + 1);
    String matches = questions.sql.isEmpty() ? "true" : String.join(" AND ", questions.sql);
    return new Composed(KINDS.replace("{matches}", matches).replace("{where}", where), arguments);
  }

  /** Empty if there are too many groups to look through. */
  private static Optional<List<Kind>> kinds(Tx tx, TenantId tenant, DeadLetterFilter filter) {
    Composed kinds = composeKinds(tenant, filter);
    List<Optional<Kind>> found =
        tx.query(
            kinds.sql(),
            row ->
                row.getBoolean("matches")
                    ? Optional.of(new Kind(row.getString("type"), row.getString("fingerprint")))
                    : Optional.empty(),
            kinds.arguments().toArray());
    return found.size() > MOST_GROUPS
        ? Optional.empty()
        : Optional.of(found.stream().flatMap(Optional::stream).toList());
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

  private static String walk(Plan plan, Order order) {
    Way way = plan.way();
    String columns = way.columns + ", d.died_at, d.task";
    String walk =
        (way == Way.BY_ID ? WALK_OF_IDS : WALK)
            .replace("{order}", columns.replace(",", " " + order.sql + ",") + " " + order.sql)
            .replace("{columns}", columns)
            .replace("{values}", way.values + ", ?, ?")
            .replace("{more}", way == Way.BY_KEY ? " AND d.key IS NOT NULL" : "");
    return way == Way.BY_KIND
        ? "unnest(?::text[], ?::text[]) AS g (type, fingerprint)\n    CROSS JOIN LATERAL " + walk
        : walk;
  }

  private static void addWalk(
      List<@Nullable Object> arguments,
      Plan plan,
      DeadLetterFilter filter,
      Position after,
      Position before,
      int reach) {
    switch (plan.way()) {
      case BY_KIND -> {
        arguments.add(Column.texts(plan.kinds(), Kind::type));
        arguments.add(Column.texts(plan.kinds(), Kind::fingerprint));
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

  private static String composed(String statement, Plan plan, Order order) {
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

  /** A statement made of the parts that a filter has. */
  record Composed(String sql, List<@Nullable Object> arguments) {}

  /** Empty if nothing can match. */
  static Optional<Composed> compose(
      Tx tx,
      TenantId tenant,
      DeadLetterFilter filter,
      Order order,
      @Nullable Position from,
      int limit) {
    Plan plan = plan(tx, tenant, filter);
    if (plan.way() == Way.BY_KIND && plan.kinds().isEmpty()) {
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
    return Optional.of(new Composed(composed(PAGE, plan, order), arguments));
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

  private static int reach(Plan plan, DeadLetterFilter filter, int limit) {
    if (plan.way() == Way.BY_ID) {
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
    Questions questions = new Questions();
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
    Plan plan = plan(tx, tenant, filter);
    if (plan.way() != Way.BY_KIND) {
      return count(tx, plan, filter, end);
    }
    long matched = 0;
    boolean isAtLeast = false;
    for (Kind kind : plan.kinds()) {
      if (isAtLeast) {
        break;
      }
      DeadLetters.Count some = count(tx, plan.only(kind), filter, end);
      matched += some.matched();
      isAtLeast = some.isAtLeast() || System.nanoTime() - end >= 0;
    }
    return new DeadLetters.Count(matched, isAtLeast);
  }

  private static DeadLetters.Count count(Tx tx, Plan plan, DeadLetterFilter filter, long end) {
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
