package carillon.store.catalog;

import carillon.model.target.Grants;
import carillon.model.target.HiddenValues;
import carillon.model.target.Target;
import carillon.model.task.AlertRule;
import carillon.model.task.AlertSetting;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** The tenants of the installation. */
public final class Tenants {

  private final Db db;
  private final Catalog catalog;

  public Tenants(Db db, Catalog catalog) {
    this.db = db;
    this.catalog = catalog;
  }

  /** From memory, which another node's change reaches within a second: called for every request. */
  public Optional<Tenant> find(String name) {
    return catalog.tenant(name);
  }

  public List<Tenant> list() {
    return catalog.tenants();
  }

  private static final String LOCK =
      """
      /* Tenants.lock */
      SELECT id, name, strict, paused, weight, alert, publish, max_types, max_lanes, max_schedules, max_keys
      FROM carillon.tenant
      WHERE name = ?
      FOR NO KEY UPDATE
      """;

  private static final String PUT =
      """
      /* Tenants.put */
      INSERT INTO carillon.tenant (
          name, strict, paused, weight, alert, publish, max_types, max_lanes, max_schedules, max_keys)
      VALUES (?, ?, ?, ?, ?::jsonb, ?, ?, ?, ?, ?)
      ON CONFLICT (name) DO UPDATE
      SET strict = excluded.strict, paused = excluded.paused, weight = excluded.weight, alert = excluded.alert,
          publish = excluded.publish, max_types = excluded.max_types, max_lanes = excluded.max_lanes,
          max_schedules = excluded.max_schedules, max_keys = excluded.max_keys
      RETURNING id, name, strict, paused, weight, alert, publish, max_types, max_lanes, max_schedules, max_keys
      """;

  /**
   * The settings of a tenant.
   *
   * @param publish null means not set
   */
  public record Settings(
      boolean strict,
      boolean paused,
      int weight,
      AlertSetting alert,
      @Nullable Grants publish,
      TenantLimits.Own limits) {

    public static final Settings DEFAULT =
        new Settings(false, false, 1, new AlertSetting.Inherited(), null);

    /** With the limits of the installation. */
    public Settings(
        boolean strict, boolean paused, int weight, AlertSetting alert, @Nullable Grants publish) {
      this(strict, paused, weight, alert, publish, TenantLimits.Own.NONE);
    }
  }

  /**
   * These settings with the secrets of the tenant's own alert in place of hidden values.
   *
   * @throws HiddenValues.Unknown if it has none
   */
  private static Settings keeping(Optional<Tenant> before, Settings asked) {
    if (!(asked.alert() instanceof AlertSetting.Own(var rule))
        || !HiddenValues.areIn(rule.target())) {
      return asked;
    }
    Target had =
        before
            .map(tenant -> tenant.alert() instanceof AlertSetting.Own own ? own : null)
            .map(own -> own.rule().target())
            .orElse(null);
    Target kept = HiddenValues.keep("alert/target", rule.target(), had);
    return new Settings(
        asked.strict(),
        asked.paused(),
        asked.weight(),
        new AlertSetting.Own(
            new AlertRule(Objects.requireNonNull(kept), rule.deaths(), rule.within())),
        asked.publish(),
        asked.limits());
  }

  /** Creates or changes. */
  public Tenant put(String name, Settings asked, String who) {
    Catalog.Written written =
        db.inTransaction(
            tx -> {
              Optional<Tenant> before = tx.queryOne(LOCK, CatalogRows::tenant, name);
              Settings settings = keeping(before, asked);
              Tenant tenant =
                  tx.query(
                          PUT,
                          CatalogRows::tenant,
                          name,
                          settings.strict(),
                          settings.paused(),
                          settings.weight(),
                          Sql.json(settings.alert()),
                          Sql.texts(settings.publish()),
                          settings.limits().types(),
                          settings.limits().lanes(),
                          settings.limits().schedules(),
                          settings.limits().keys())
                      .getFirst();
              ObjectNode now = AuditDetail.of(tenant);
              String detail =
                  before
                      .map(old -> AuditDetail.changed(AuditDetail.of(old), now))
                      .orElseGet(() -> AuditDetail.created(now));
              Audit.record(tx, tenant.id(), who, "tenant.put", name, detail);
              return catalog.written(tx, tenant);
            });
    catalog.put(written);
    return written.tenant();
  }
}
