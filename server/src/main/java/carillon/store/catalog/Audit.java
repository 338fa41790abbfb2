package carillon.store.catalog;

import carillon.model.TenantId;
import carillon.store.db.Db;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The audit log: changes by people and programs, written in the transaction of the change. */
public final class Audit {

  /** Records that a page scans at most if there is a filter by action. */
  private static final int MAX_SCANNED = 10_000;

  private final Db db;

  public Audit(Db db) {
    this.db = db;
  }

  private static final String RECORD =
      """
      /* Audit.record */
      INSERT INTO carillon.audit (tenant, who, action, subject, detail)
      VALUES (?, ?, ?, ?, ?::jsonb)
      """;

  public static void record(
      Tx tx, TenantId tenant, String who, String action, String subject, @Nullable String detail) {
    tx.update(RECORD, tenant, who, action, subject, detail);
  }

  /**
   * A recorded change.
   *
   * @param detail JSON
   */
  public record Entry(
      long id, Instant at, String who, String action, String subject, @Nullable String detail) {}

  /**
   * Selects records; null fields match all.
   *
   * @param withAdminKeys whether to include records about keys of admins
   */
  public record Filter(@Nullable String action, @Nullable String subject, boolean withAdminKeys) {

    public Filter(@Nullable String action, @Nullable String subject) {
      this(action, subject, true);
    }
  }

  // The filter applies to the records that the inner query has reached. The last of them is always
  // returned: it is the cursor of the next page.
  private static final String PAGE =
      """
      /* Audit.list */
      SELECT *
      FROM (
          SELECT a.*,
                 (?::text IS NULL OR a.action = ?::text)
                     AND (? OR a.action NOT LIKE 'key.%'
                          OR coalesce(a.detail -> 'new' ->> 'role', a.detail -> 'old' ->> 'role', '')
                             <> 'admin') AS matches,
                 row_number() OVER (ORDER BY a.id DESC) = ? AS is_end
          FROM (
              SELECT *
              FROM carillon.audit
              WHERE tenant = ?
                AND {subject}
                AND id < ?
              ORDER BY id DESC
              LIMIT ?
          ) a
      ) a
      WHERE a.matches OR a.is_end
      ORDER BY a.id DESC
      LIMIT ?
      """;

  private static final String PAGE_OF_SUBJECT = PAGE.replace("{subject}", "subject = ?");
  private static final String PAGE_OF_ALL = PAGE.replace("{subject}", "?::text IS NULL");

  private record Reached(Entry entry, boolean matches, boolean isEnd) {}

  /** Newest first. */
  public Page<Entry, Long> list(TenantId tenant, Filter filter, int limit, @Nullable Long before) {
    int reach = filter.action() == null ? limit + 1 : Math.max(MAX_SCANNED, limit);
    List<Reached> reached =
        db.inTransaction(
            tx ->
                tx.query(
                    filter.subject() == null ? PAGE_OF_ALL : PAGE_OF_SUBJECT,
                    row ->
                        new Reached(
                            entry(row), row.getBoolean("matches"), row.getBoolean("is_end")),
                    filter.action(),
                    filter.action(),
                    filter.withAdminKeys(),
                    reach,
                    tenant,
                    filter.subject(),
                    before == null ? Long.MAX_VALUE : before,
                    reach,
                    limit + 1));
    List<Entry> items = new ArrayList<>();
    for (Reached each : reached) {
      if (each.matches() && items.size() == limit) {
        return new Page<>(items, items.getLast().id());
      }
      if (each.matches()) {
        items.add(each.entry());
      }
      if (each.isEnd()) {
        return new Page<>(items, each.entry().id());
      }
    }
    return new Page<>(items, null);
  }

  private static Entry entry(ResultSet row) throws SQLException {
    return new Entry(
        row.getLong("id"),
        Sql.requiredInstant(row, "at"),
        row.getString("who"),
        row.getString("action"),
        row.getString("subject"),
        row.getString("detail"));
  }
}
