package carillon.store.catalog;

import carillon.model.TenantId;
import carillon.model.target.SigningSecret;
import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import carillon.model.task.Callbacks;
import carillon.model.task.Lane;
import carillon.model.task.RetryPolicy;
import carillon.model.task.Route;
import carillon.model.task.TaskType;
import carillon.store.db.Column;
import carillon.store.db.Json;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Maps rows of tenants, types and lanes. */
public final class CatalogRows {

  private CatalogRows() {}

  static final String TYPE_COLUMNS =
      """
      tenant, name, target, retry, timeout_ms, lease_timeout_ms, priority, slices, paused, paused_reason,
      signing_secret,
      CASE WHEN previous_secret_until > clock_timestamp() THEN previous_secret END AS previous_secret, version,
      on_complete, on_dead, status_rules, schema
      """;

  static Tenant tenant(ResultSet row) throws SQLException {
    return new Tenant(
        new TenantId(row.getInt("id")),
        row.getString("name"),
        row.getBoolean("strict"),
        row.getBoolean("paused"),
        row.getInt("weight"),
        Json.alert(row.getString("alert")),
        Sql.grants(row, "publish"),
        TenantLimits.Own.of(row));
  }

  static TaskType type(ResultSet row) throws SQLException {
    String target = row.getString("target");
    String retry = row.getString("retry");
    String statuses = row.getString("status_rules");
    List<SigningSecret> secrets = new ArrayList<>();
    addSecret(secrets, row.getBytes("signing_secret"));
    addSecret(secrets, row.getBytes("previous_secret"));
    return new TaskType(
        row.getString("name"),
        target == null ? new Target.Pull() : Json.target(target),
        retry == null ? RetryPolicy.DEFAULT : Json.retry(retry),
        Duration.ofMillis(row.getLong("timeout_ms")),
        Duration.ofMillis(row.getLong("lease_timeout_ms")),
        row.getInt("priority"),
        row.getInt("slices"),
        row.getBoolean("paused"),
        row.getString("paused_reason"),
        secrets,
        row.getInt("version"),
        callbacks(row),
        statuses == null ? StatusRules.DEFAULT : Json.statuses(statuses),
        row.getString("schema"));
  }

  /** Those that a type's or a task's own row names. */
  public static Callbacks callbacks(ResultSet row) throws SQLException {
    String onComplete = row.getString("on_complete");
    String onDead = row.getString("on_dead");
    return onComplete == null && onDead == null
        ? Callbacks.NONE
        : new Callbacks(
            onComplete == null ? null : Json.target(onComplete),
            onDead == null ? null : Json.target(onDead));
  }

  private static void addSecret(List<SigningSecret> secrets, byte @Nullable [] bytes) {
    if (bytes != null) {
      secrets.add(new SigningSecret(bytes));
    }
  }

  private static final String LANES =
      """
      /* CatalogRows.lanes */
      SELECT id
      FROM carillon.lane
      WHERE tenant = ?
        AND (?::text IS NULL OR type = ?::text)
      """;

  /**
   * The lanes of a type, or of all types. Queried each time, because another node may have created
   * one.
   */
  public static Column lanes(Tx tx, TenantId tenant, @Nullable String type) {
    return Column.ints(laneIds(tx, tenant, type), lane -> lane);
  }

  /** Their ids in ascending order. */
  public static List<Integer> laneIds(Tx tx, TenantId tenant, @Nullable String type) {
    return tx.query(LANES, row -> row.getInt("id"), tenant, type, type).stream().sorted().toList();
  }

  static Lane lane(ResultSet row) throws SQLException {
    return new Lane(
        row.getInt("id"),
        new TenantId(row.getInt("tenant")),
        row.getString("type"),
        row.getInt("priority"),
        row.getInt("slice"),
        Route.parse(row.getString("route")).orElseThrow());
  }
}
