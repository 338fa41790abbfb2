package carillon.store.deadletters;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.db.Column;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.deadletters.DeadLetters.Position;
import carillon.store.deadletters.LetterPlan.Access;
import carillon.store.deadletters.LetterPlan.Conditions;
import carillon.store.deadletters.LetterPlan.Query;
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
 * Finds dead letters by a filter. Each search is a range scan of one index, compared and sorted by
 * that index's own columns, so that the planner cannot choose another one, whatever the statistics
 * say. Conditions that the index does not decide are checked for a bounded number of letters, so
 * that no filter makes a query long.
 */
final class LetterSearch {

  /** Letters that one page scans before it ends early. */
  private static final int MAX_SCANNED = 5_000;

  /** Letters that one page scans if the task of each has to be read. */
  private static final int MAX_SCANNED_WITH_TASKS = 1_000;

  /** Letters that one page scans in all its groups together. */
  private static final int MAX_SCANNED_IN_GROUPS = 20_000;

  private static final int COUNT_BATCH = 50_000;

  private static final Position FIRST =
      new Position(Instant.parse("0001-01-01T00:00:00Z"), new TaskId(new UUID(0, 0)));
  private static final Position LAST =
      new Position(Instant.parse("9999-12-31T00:00:00Z"), new TaskId(new UUID(-1L, -1L)));

  private LetterSearch() {}

  /** The end of the index at which a scan starts. */
  enum Order {
    NEWEST_FIRST("DESC"),
    OLDEST_FIRST("ASC");

    private final String sql;

    Order(String sql) {
      this.sql = sql;
    }
  }

  // Numbered from the start of the scan: the letter whose number is the limit is its end.
  private static final String SCAN =
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

  // OFFSET 0 is an optimization fence: the ids are looked up and nothing else is read.
  private static final String SCAN_OF_IDS =
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

  private static String scan(LetterPlan plan, Order order) {
    Access access = plan.access();
    String columns = access.columns + ", d.died_at, d.task";
    String scan =
        (access == Access.BY_ID ? SCAN_OF_IDS : SCAN)
            .replace("{order}", columns.replace(",", " " + order.sql + ",") + " " + order.sql)
            .replace("{columns}", columns)
            .replace("{values}", access.values + ", ?, ?")
            .replace("{more}", access == Access.BY_KEY ? " AND d.key IS NOT NULL" : "");
    return access == Access.BY_GROUP
        ? "unnest(?::text[], ?::text[]) AS g (type, fingerprint)\n    CROSS JOIN LATERAL " + scan
        : scan;
  }

  private static void addScan(
      List<@Nullable Object> arguments,
      LetterPlan plan,
      DeadLetterFilter filter,
      Position after,
      Position before,
      int scanLimit) {
    switch (plan.access()) {
      case BY_GROUP -> {
        arguments.add(Column.texts(plan.groups(), LetterPlan.Group::type));
        arguments.add(Column.texts(plan.groups(), LetterPlan.Group::fingerprint));
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
    arguments.add(scanLimit);
  }

  private static String assemble(String statement, LetterPlan plan, Order order) {
    String matches =
        plan.hasConditions() ? "(" + String.join(" AND ", plan.conditions()) + ") IS TRUE" : "true";
    return statement
        .replace("{matches}", matches)
        .replace("{scan}", scan(plan, order))
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
          FROM {scan}
      ) l
      WHERE l.matches OR l.is_end
      ORDER BY l.died_at {order}, l.task {order}
      LIMIT ?
      """;

  /** A letter that a page scanned; isEnd, matching or not, where a scan reached its limit. */
  private record Scanned(Position at, boolean matches, boolean isEnd) {}

  /** The statement of a page; empty if no letter can match. */
  static Optional<Query> pageQuery(
      Tx tx,
      TenantId tenant,
      DeadLetterFilter filter,
      Order order,
      @Nullable Position from,
      int limit) {
    LetterPlan plan = LetterPlan.of(tx, tenant, filter);
    if (plan.access() == Access.BY_GROUP && plan.groups().isEmpty()) {
      return Optional.empty();
    }
    boolean isForward = order == Order.OLDEST_FIRST;
    int scanLimit = scanLimit(plan, filter, limit);
    List<@Nullable Object> arguments = new ArrayList<>(plan.arguments());
    arguments.add(scanLimit);
    addScan(
        arguments,
        plan,
        filter,
        isForward && from != null ? from : start(filter),
        !isForward && from != null ? from : end(filter),
        scanLimit);
    arguments.add(limit + 1);
    return Optional.of(new Query(assemble(PAGE, plan, order), arguments));
  }

  /**
   * A page of the letters that match.
   *
   * @param from where the previous page ended; null for the first page
   */
  static Page<Position, Position> page(
      Tx tx,
      TenantId tenant,
      DeadLetterFilter filter,
      Order order,
      @Nullable Position from,
      int limit) {
    List<Scanned> scanned =
        pageQuery(tx, tenant, filter, order, from, limit)
            .map(page -> tx.query(page.sql(), LetterSearch::scanned, page.arguments().toArray()))
            .orElse(List.of());
    List<Position> items = new ArrayList<>();
    for (Scanned row : scanned) {
      if (row.matches() && items.size() == limit) {
        return new Page<>(items, items.getLast());
      }
      if (row.matches()) {
        items.add(row.at());
      }
      if (row.isEnd()) { // this scan may have further letters, so the page ends here
        return new Page<>(items, row.at());
      }
    }
    return new Page<>(items, null);
  }

  private static Scanned scanned(ResultSet row) throws SQLException {
    return new Scanned(position(row), row.getBoolean("matches"), row.getBoolean("is_end"));
  }

  /** How many letters each scan of a page reads at most. */
  private static int scanLimit(LetterPlan plan, DeadLetterFilter filter, int limit) {
    if (plan.access() == Access.BY_ID) {
      return filter.ids().size() + 1; // never reached
    }
    int scans = Math.max(1, plan.groups().size());
    int all =
        plan.hasConditions()
            ? Math.max(plan.readsTasks() ? MAX_SCANNED_WITH_TASKS : MAX_SCANNED, limit)
            : Math.min((limit + 1) * scans, Math.max(MAX_SCANNED_IN_GROUPS, limit + 1));
    return Math.max(1, all / scans);
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
          FROM {scan}
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
    Conditions conditions = new Conditions();
    conditions.add(" AND g.type = ?", filter.type());
    conditions.add(" AND g.fingerprint = ?", filter.group());
    conditions.add(" AND g.failure = ?", filter.failure() == null ? null : filter.failure().name());
    conditions.add(" AND g.status = ?", filter.status());
    List<@Nullable Object> arguments = new ArrayList<>(List.of(tenant));
    arguments.addAll(conditions.arguments);
    return tx.query(
            COUNT_BY_GROUPS.replace("{more}", String.join("", conditions.sql)),
            row -> row.getLong("matched"),
            arguments.toArray())
        .getFirst();
  }

  /** Counts the letters that match, statement by statement until the timeout. */
  static DeadLetters.Count count(
      Tx tx, TenantId tenant, DeadLetterFilter filter, Duration timeout) {
    if (filter.isCountedByGroups()) {
      return new DeadLetters.Count(countByGroups(tx, tenant, filter), false);
    }
    long deadline = System.nanoTime() + timeout.toNanos();
    LetterPlan plan = LetterPlan.of(tx, tenant, filter);
    if (plan.access() != Access.BY_GROUP) {
      return count(tx, plan, filter, deadline);
    }
    long matched = 0;
    boolean isAtLeast = false;
    for (LetterPlan.Group group : plan.groups()) {
      if (isAtLeast) {
        break;
      }
      DeadLetters.Count some = count(tx, plan.only(group), filter, deadline);
      matched += some.matched();
      isAtLeast = some.isAtLeast() || System.nanoTime() - deadline >= 0;
    }
    return new DeadLetters.Count(matched, isAtLeast);
  }

  private static DeadLetters.Count count(
      Tx tx, LetterPlan plan, DeadLetterFilter filter, long deadline) {
    long matched = 0;
    Position from = start(filter);
    do {
      List<@Nullable Object> arguments = new ArrayList<>(plan.arguments());
      int scanLimit = plan.readsTasks() ? MAX_SCANNED : COUNT_BATCH;
      arguments.add(scanLimit);
      addScan(arguments, plan, filter, from, end(filter), scanLimit);
      Counted counted =
          tx.query(
                  assemble(COUNT, plan, Order.OLDEST_FIRST),
                  LetterSearch::counted,
                  arguments.toArray())
              .getFirst();
      matched += counted.matched();
      from = counted.end();
    } while (from != null && System.nanoTime() - deadline < 0);
    return new DeadLetters.Count(matched, from != null);
  }

  private static Counted counted(ResultSet row) throws SQLException {
    UUID end = Sql.uuid(row, "task");
    return new Counted(row.getLong("matched"), end == null ? null : position(row));
  }
}
