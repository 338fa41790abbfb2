package carillon.store;

import carillon.model.AlertSetting;
import java.util.List;
import java.util.Optional;

/** The tenants of the installation. */
public final class Tenants {

  private final Db db;
  private final Catalog catalog;

  public Tenants(Db db, Catalog catalog) {
    this.db = db;
    this.catalog = catalog;
  }

  /**
   * From memory, which another node's change reaches within a second: this is asked with every
   * request.
   */
  public Optional<Tenant> find(String name) {
    return catalog.tenant(name);
  }

  public List<Tenant> list() {
    return catalog.tenants();
  }

  private static final String PUT =
      """
      /* Tenants.put */
      INSERT INTO carillon.tenant (name, strict, paused, weight, alert)
      VALUES (?, ?, ?, ?, ?::jsonb)
      ON CONFLICT (name) DO UPDATE
      SET strict = excluded.strict, paused = excluded.paused, weight = excluded.weight, alert = excluded.alert
      RETURNING id, name, strict, paused, weight, alert
      """;

  /** Creates or changes. */
  public Tenant put(
      String name, boolean strict, boolean paused, int weight, AlertSetting alert, String who) {
    Catalog.Written written =
        db.inTransaction(
            tx -> {
              Tenant tenant =
                  tx.query(PUT, Catalog::tenant, name, strict, paused, weight, Sql.json(alert))
                      .getFirst();
              Audit.record(tx, tenant.id(), who, "tenant.put", name, null);
              return catalog.written(tx, tenant);
            });
    catalog.put(written);
    return written.tenant();
  }
}
