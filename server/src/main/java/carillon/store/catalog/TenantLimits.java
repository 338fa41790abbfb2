package carillon.store.catalog;

import carillon.model.TenantId;
import carillon.model.TenantLimit;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How many types, lanes, schedules and keys a tenant may have. The limits are in the database and
 * not in each node's memory: {@code carillon.enqueue} must know them too.
 */
public final class TenantLimits {

  private static final Logger log = LoggerFactory.getLogger(TenantLimits.class);

  /** The largest limit that can be set: a node keeps types and lanes in memory. */
  public static final int MAX = 1_000_000;

  private final Db db;

  public TenantLimits(Db db) {
    this.db = db;
  }

  /** The default limits. */
  public record Installation(int types, int lanes, int schedules, int keys) {}

  /** Limits of one tenant; where one is null, the installation's. */
  public record Own(
      @Nullable Integer types,
      @Nullable Integer lanes,
      @Nullable Integer schedules,
      @Nullable Integer keys) {

    public static final Own NONE = new Own(null, null, null, null);

    public @Nullable Integer of(TenantLimit limit) {
      return switch (limit) {
        case TYPES -> types;
        case LANES -> lanes;
        case SCHEDULES -> schedules;
        case KEYS -> keys;
      };
    }

    static Own of(ResultSet row) throws SQLException {
      return new Own(
          Sql.integer(row, "max_types"),
          Sql.integer(row, "max_lanes"),
          Sql.integer(row, "max_schedules"),
          Sql.integer(row, "max_keys"));
    }
  }

  /** The usage of a limit. */
  public record Used(int used, int max) {}

  private static final String SET =
      """
      /* TenantLimits.set */
      UPDATE carillon.tenant_limits
      SET types = ?, lanes = ?, schedules = ?, keys = ?
      WHERE (types, lanes, schedules, keys) IS DISTINCT FROM (?, ?, ?, ?)
      """;

  /** Sets the limits for all nodes and for the transactions of users. */
  public void set(Installation limits) {
    int changed =
        db.inTransaction(
            tx ->
                tx.update(
                    SET,
                    limits.types(),
                    limits.lanes(),
                    limits.schedules(),
                    limits.keys(),
                    limits.types(),
                    limits.lanes(),
                    limits.schedules(),
                    limits.keys()));
    if (changed == 1) {
      log.info(
          "tenant limits changed types={} lanes={} schedules={} keys={}",
          limits.types(),
          limits.lanes(),
          limits.schedules(),
          limits.keys());
    }
  }

  private static final String USAGE =
      """
      /* TenantLimits.usage */
      SELECT used, max_allowed
      FROM carillon.tenant_usage(?, ?, true)
      """;

  static Used usage(Tx tx, TenantId tenant, TenantLimit limit) {
    return tx.query(
            USAGE,
            row -> new Used(row.getInt("used"), row.getInt("max_allowed")),
            tenant,
            limit.label())
        .getFirst();
  }

  private static final String HOLD =
      """
      /* TenantLimits.hold */
      SELECT pg_advisory_xact_lock(hashtext('carillon.' || ?), ?)
      """;

  /**
   * Serializes the transactions that create schedules, or keys, of the tenant. Types and lanes need
   * no such lock: their creation locks the catalog's row.
   */
  public static void hold(Tx tx, TenantId tenant, TenantLimit limit) {
    tx.query(HOLD, _ -> true, limit.label(), tenant);
  }

  /** Call after the insert, in the same transaction. */
  public static void refuseIfOver(Tx tx, TenantId tenant, TenantLimit limit) {
    Used now = usage(tx, tenant, limit);
    if (now.used() > now.max()) {
      throw new LimitReached(limit, now.max(), 0);
    }
  }

  private static final String ALL =
      """
      /* TenantLimits.all */
      SELECT t.id, t.max_types, t.max_lanes, t.max_schedules, t.max_keys,
             l.types AS default_types, l.lanes AS default_lanes, l.schedules AS default_schedules, l.keys AS default_keys,
             (SELECT count(*)
              FROM carillon.task_type y
              WHERE y.tenant = t.id
                AND y.name NOT IN ('carillon.callback', 'carillon.alert')) AS types,
             (SELECT count(*) FROM carillon.lane n WHERE n.tenant = t.id) AS lanes,
             (SELECT count(*) FROM carillon.schedule s WHERE s.tenant = t.id) AS schedules,
             (SELECT count(*)
              FROM carillon.api_key k
              WHERE k.tenant = t.id
                AND k.revoked_at IS NULL
                AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())) AS keys
      FROM carillon.tenant t
      CROSS JOIN carillon.tenant_limits l
      WHERE t.id = ANY (?)
      """;

  private record OfTenant(TenantId tenant, Map<TenantLimit, Used> usage) {}

  /** The usage and the limits of these tenants. */
  public Map<TenantId, Map<TenantLimit, Used>> usage(Collection<TenantId> tenants) {
    Map<TenantId, Map<TenantLimit, Used>> all = new HashMap<>();
    tenants.forEach(tenant -> all.put(tenant, Map.of()));
    db.autoCommit(
            tx -> tx.query(ALL, TenantLimits::ofTenant, Column.ints(tenants, TenantId::value)))
        .forEach(each -> all.put(each.tenant(), each.usage()));
    return all;
  }

  private static OfTenant ofTenant(ResultSet row) throws SQLException {
    Own own = Own.of(row);
    Map<TenantLimit, Used> usage = new EnumMap<>(TenantLimit.class);
    for (TenantLimit limit : TenantLimit.values()) {
      Integer max = own.of(limit);
      usage.put(
          limit,
          new Used(
              row.getInt(limit.label()),
              max == null ? row.getInt("default_" + limit.label()) : max));
    }
    return new OfTenant(new TenantId(row.getInt("id")), usage);
  }
}
