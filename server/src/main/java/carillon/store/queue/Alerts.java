package carillon.store.queue;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.AlertRule;
import carillon.model.task.AlertSetting;
import carillon.model.task.FailureKind;
import carillon.model.task.Lane;
import carillon.model.task.NewTask;
import carillon.model.task.TaskSpec;
import carillon.model.task.TaskType;
import carillon.store.catalog.Catalog;
import carillon.store.db.Column;
import carillon.store.db.Json;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.Counters;
import carillon.store.tasks.Tasks;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Raises an alert when a group of dead letters grows too fast. The alert is a task, created once
 * and in the transaction of the death that exceeded the limit.
 */
public final class Alerts {

  private final Catalog catalog;
  private final Tasks tasks;
  private final @Nullable AlertRule usual;
  private final Counters counters;

  /**
   * @param usual the installation's rule, for tenants without one; null if there is none
   */
  public Alerts(Catalog catalog, Tasks tasks, @Nullable AlertRule usual, Counters counters) {
    this.catalog = catalog;
    this.tasks = tasks;
    this.usual = usual;
    this.counters = counters;
  }

  /** The tenant that owns the alert task, and the rule that raised it. */
  private record Recipient(TenantId tenant, AlertRule rule) {}

  /**
   * The installation's alerts are tasks of the default tenant: other tenants must not read where
   * they are sent.
   */
  private @Nullable Recipient recipient(TenantId tenant) {
    return switch (catalog.tenant(tenant).alert()) {
      case AlertSetting.Own(var rule) -> new Recipient(tenant, rule);
      case AlertSetting.Inherited() ->
          usual == null ? null : new Recipient(TenantId.DEFAULT, usual);
      case AlertSetting.Off() -> null;
    };
  }

  /**
   * This transaction has written the deaths, so it holds the locks of their groups: no concurrent
   * transaction can raise the same alert, and an earlier one has committed.
   */
  void raise(Tx tx, List<EndedTask> dead) {
    Map<Integer, List<TaskId>> byTenant = new TreeMap<>();
    for (EndedTask each : dead) {
      Lane lane = catalog.lane(each.lane());
      if (!TaskType.isOwn(lane.type())) {
        byTenant.computeIfAbsent(lane.tenant().value(), _ -> new ArrayList<>()).add(each.id());
      }
    }
    byTenant.forEach(
        (id, letters) -> {
          TenantId tenant = new TenantId(id);
          Recipient recipient = recipient(tenant);
          if (recipient != null) {
            raise(tx, tenant, letters, recipient);
          }
        });
  }

  // Every further death after an alert postpones the next alert.
  private static final String RAISE =
      """
      /* Alerts.raise */
      WITH touched AS MATERIALIZED (
          SELECT DISTINCT d.type, d.fingerprint
          FROM unnest(?::uuid[]) AS dead (task)
          JOIN carillon.dead_letter d ON d.tenant = ? AND d.task = dead.task
      ), judged AS MATERIALIZED (
          SELECT g.type, g.fingerprint, coalesce(g.alert_until > clock_timestamp(), false) AS is_ongoing
          FROM touched
          JOIN carillon.dead_letter_group g
               ON g.tenant = ? AND g.type = touched.type AND g.fingerprint = touched.fingerprint
      )
      UPDATE carillon.dead_letter_group g
      SET alerted_at = CASE WHEN judged.is_ongoing THEN g.alerted_at ELSE clock_timestamp() END,
          alert_until = clock_timestamp() + make_interval(secs => ?)
      FROM judged
      WHERE g.tenant = ?
        AND g.type = judged.type
        AND g.fingerprint = judged.fingerprint
        AND (judged.is_ongoing
             OR (SELECT count(*)
                 FROM (SELECT
                       FROM carillon.dead_letter d
                       WHERE d.tenant = g.tenant
                         AND d.type = g.type
                         AND d.fingerprint = g.fingerprint
                         AND d.died_at > (SELECT clock_timestamp()) - make_interval(secs => ?)
                       LIMIT ?) recent) >= ?)
      RETURNING g.type, g.fingerprint, g.failure, g.status, g.error, g.first_at, g.last_at, judged.is_ongoing
      """;

  /** A group of dead letters over the limit; {@code isOngoing} if its alert was raised before. */
  private record Group(
      String type,
      String fingerprint,
      @Nullable String failure,
      @Nullable Integer status,
      @Nullable String error,
      Instant firstAt,
      Instant lastAt,
      boolean isOngoing) {}

  private void raise(Tx tx, TenantId tenant, List<TaskId> letters, Recipient recipient) {
    AlertRule rule = recipient.rule();
    List<NewTask> alerts = new ArrayList<>();
    for (Group group :
        tx.query(
            RAISE,
            Alerts::group,
            Column.uuids(letters, TaskId::value),
            tenant,
            tenant,
            seconds(rule.quiet()),
            tenant,
            seconds(rule.within()),
            rule.deaths(),
            rule.deaths())) {
      if (!group.isOngoing()) {
        alerts.add(alert(catalog.tenant(tenant).name(), group, rule));
      }
    }
    if (!alerts.isEmpty()) {
      tasks.createOwn(tx, recipient.tenant(), alerts);
      tx.afterCommit(() -> counters.addAlerts(alerts.size()));
    }
  }

  private static Group group(ResultSet row) throws SQLException {
    return new Group(
        row.getString("type"),
        row.getString("fingerprint"),
        row.getString("failure"),
        Sql.integer(row, "status"),
        row.getString("error"),
        Sql.requiredInstant(row, "first_at"),
        Sql.requiredInstant(row, "last_at"),
        row.getBoolean("is_ongoing"));
  }

  private static double seconds(Duration duration) {
    return duration.toMillis() / 1e3;
  }

  private static NewTask alert(String tenant, Group group, AlertRule rule) {
    String payload = payload(tenant, group, rule).toString();
    TaskSpec spec = new TaskSpec(AlertRule.TYPE, group.fingerprint(), payload, rule.target());
    return new NewTask(spec, null, null);
  }

  private static ObjectNode payload(String tenant, Group group, AlertRule rule) {
    String failure = group.failure();
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("event", "dead-letters.growing");
    node.put("tenant", tenant);
    node.put("type", group.type());
    node.put("group", group.fingerprint());
    node.put("failure", failure == null ? null : FailureKind.valueOf(failure).label());
    node.put("status", group.status());
    node.put("error", group.error());
    node.put("deaths", rule.deaths());
    node.put("within", rule.within().toString());
    node.put("firstSeenAt", Json.of(group.firstAt()));
    node.put("lastSeenAt", Json.of(group.lastAt()));
    return node;
  }
}
