package carillon.store.deadletters;

import carillon.model.TenantId;
import carillon.model.task.FailureKind;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.deadletters.DeadLetterGroup.Filter;
import carillon.store.deadletters.DeadLetterGroup.Position;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Finds the groups of a tenant's dead letters that match a filter. */
final class GroupSearch {

  /** Groups that one page reads before it ends early. */
  private static final int MAX_READ = 5_000;

  private GroupSearch() {}

  // The filter sees only the groups that the inner query has read. The last of them is always
  // returned, because the next page starts there.
  static final String PAGE =
      """
      /* GroupSearch.page */
      SELECT *
      FROM (
          SELECT g.*,
                 row_number() OVER (ORDER BY g.tenant DESC, g.last_at DESC, g.type DESC, g.fingerprint DESC) = ?
                     AS is_end,
                 ((?::text IS NULL OR g.type = ?::text)
                     AND (?::text IS NULL OR g.failure = ?::text)
                     AND (?::smallint IS NULL OR g.status = ?::smallint)) IS TRUE AS matches
          FROM (
              SELECT *
              FROM carillon.dead_letter_group
              WHERE letters > 0
                AND (tenant, last_at, type, fingerprint) > (?, '-infinity', '', '')
                AND (tenant, last_at, type, fingerprint) < (?, ?, ?, ?)
              ORDER BY tenant DESC, last_at DESC, type DESC, fingerprint DESC
              LIMIT ?
          ) g
      ) g
      WHERE g.matches OR g.is_end
      ORDER BY g.last_at DESC, g.type DESC, g.fingerprint DESC
      LIMIT ?
      """;

  private static final Position LAST = new Position(Instant.parse("9999-12-31T00:00:00Z"), "", "");

  private record ReadGroup(DeadLetterGroup group, boolean matches, boolean isEnd) {
    private Position position() {
      return new Position(group.lastAt(), group.type(), group.fingerprint());
    }
  }

  /** A page of the groups that have letters, newest death first. */
  static Page<DeadLetterGroup, Position> page(
      Tx tx, TenantId tenant, Filter filter, int limit, @Nullable Position before) {
    Position from = before == null ? LAST : before;
    List<ReadGroup> groups =
        tx.query(PAGE, GroupSearch::read, arguments(tenant, filter, limit, from));
    List<DeadLetterGroup> items = new ArrayList<>();
    Position end = from;
    for (ReadGroup each : groups) {
      if (each.matches() && items.size() == limit) {
        return new Page<>(items, end);
      }
      if (each.matches()) {
        items.add(each.group());
        end = each.position();
      }
      if (each.isEnd()) {
        return new Page<>(items, each.position());
      }
    }
    return new Page<>(items, null);
  }

  static @Nullable Object[] arguments(
      TenantId tenant, Filter filter, int limit, @Nullable Position before) {
    Position from = before == null ? LAST : before;
    String failure = filter.failure() == null ? null : filter.failure().name();
    boolean isFiltered = filter.type() != null || failure != null || filter.status() != null;
    int read = isFiltered ? MAX_READ : limit + 1;
    return new @Nullable Object[] {
      read,
      filter.type(),
      filter.type(),
      failure,
      failure,
      filter.status(),
      filter.status(),
      tenant,
      tenant,
      from.lastAt(),
      from.type(),
      from.fingerprint(),
      read,
      limit + 1
    };
  }

  private static ReadGroup read(ResultSet row) throws SQLException {
    String failure = row.getString("failure");
    DeadLetterGroup group =
        new DeadLetterGroup(
            row.getString("type"),
            row.getString("fingerprint"),
            failure == null ? null : FailureKind.valueOf(failure),
            Sql.integer(row, "status"),
            row.getString("error"),
            row.getLong("letters"),
            row.getLong("deaths"),
            Sql.requiredInstant(row, "first_at"),
            Sql.requiredInstant(row, "last_at"));
    return new ReadGroup(group, row.getBoolean("matches"), row.getBoolean("is_end"));
  }
}
