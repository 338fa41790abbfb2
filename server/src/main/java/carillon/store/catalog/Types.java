package carillon.store.catalog;

import carillon.model.Partition;
import carillon.model.TenantId;
import carillon.model.TenantLimit;
import carillon.model.target.HiddenValues;
import carillon.model.target.SigningSecret;
import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import carillon.model.task.Callbacks;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskType;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Json;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The task types of one tenant at a time. */
public final class Types {

  private static final Duration ROTATION = Duration.ofHours(24);

  private final Db db;
  private final Catalog catalog;

  public Types(Db db, Catalog catalog) {
    this.db = db;
    this.catalog = catalog;
  }

  /** The settings of a PUT. Null means the default, except for the secret, which then stays. */
  public record Settings(
      @Nullable Target target,
      @Nullable RetryPolicy retry,
      @Nullable Duration timeout,
      @Nullable Duration leaseTimeout,
      @Nullable Integer priority,
      @Nullable Integer slices,
      boolean paused,
      @Nullable SigningSecret signingSecret,
      Callbacks callbacks,
      StatusRules statuses,
      @Nullable String schema) {

    /**
     * These settings with the secrets of the type in place of hidden values.
     *
     * @throws HiddenValues.Unknown if it has none
     */
    Settings keeping(@Nullable TaskType before) {
      Target had = before == null ? null : before.target();
      Callbacks stored = before == null ? Callbacks.NONE : before.callbacks();
      return new Settings(
          HiddenValues.keep("target", target, had),
          retry,
          timeout,
          leaseTimeout,
          priority,
          slices,
          paused,
          signingSecret,
          new Callbacks(
              HiddenValues.keep("onComplete", callbacks.onComplete(), stored.onComplete()),
              HiddenValues.keep("onDead", callbacks.onDead(), stored.onDead())),
          statuses,
          schema);
    }
  }

  /** The result of a change. */
  public sealed interface Result {
    record Saved(TaskType type, boolean created) implements Result {}

    record Deleted() implements Result {}

    record NotFound() implements Result {}

    record StaleVersion(TaskType type) implements Result {}

    /** It still has tasks that wait or run, so it cannot be deleted. */
    record LiveTasks() implements Result {}

    /** A schedule creates tasks of it, so it cannot be deleted. */
    record NamedBySchedule(String schedule) implements Result {}
  }

  /**
   * The settings from memory, the defaults if there are none. Changes of another node may be
   * missing for a second.
   */
  public TaskType known(TenantId tenant, String name) {
    return catalog.type(tenant, name);
  }

  private static final String FIND =
      """
      /* Types.find */
      SELECT %s
      FROM carillon.task_type
      WHERE tenant = ?
        AND name = ?
      """
          .formatted(CatalogRows.TYPE_COLUMNS);

  public Optional<TaskType> find(TenantId tenant, String name) {
    return db.inTransaction(tx -> find(tx, tenant, name));
  }

  private static Optional<TaskType> find(Tx tx, TenantId tenant, String name) {
    return tx.queryOne(FIND, CatalogRows::type, tenant, name);
  }

  private static final String LOCK =
      """
      /* Types.lock */
      SELECT %s
      FROM carillon.task_type
      WHERE tenant = ?
        AND name = ?
      FOR UPDATE
      """
          .formatted(CatalogRows.TYPE_COLUMNS);

  private static Optional<TaskType> lock(Tx tx, TenantId tenant, String name) {
    return tx.queryOne(LOCK, CatalogRows::type, tenant, name);
  }

  private static final String LIST =
      """
      /* Types.list */
      SELECT %s
      FROM carillon.task_type
      WHERE tenant = ?
        AND name > ?
      ORDER BY name
      LIMIT ?
      """
          .formatted(CatalogRows.TYPE_COLUMNS);

  /** By name, after the given one. */
  public Page<TaskType, String> list(TenantId tenant, int limit, @Nullable String after) {
    List<TaskType> types =
        db.inTransaction(
            tx -> tx.query(LIST, CatalogRows::type, tenant, after == null ? "" : after, limit + 1));
    return types.size() <= limit
        ? new Page<>(types, null)
        : new Page<>(types.subList(0, limit), types.get(limit - 1).name());
  }

  private static final String PUT =
      """
      /* Types.put */
      INSERT INTO carillon.task_type AS t (
          tenant, name, target, retry, timeout_ms, lease_timeout_ms, priority, slices, paused, signing_secret,
          on_complete, on_dead, status_rules, schema)
      VALUES (?, ?, ?::jsonb, ?::jsonb, ?, ?, ?, ?, ?, ?, ?::jsonb, ?::jsonb, ?::jsonb, ?)
      ON CONFLICT (tenant, name) DO UPDATE
      SET target = excluded.target,
          retry = excluded.retry,
          timeout_ms = excluded.timeout_ms,
          lease_timeout_ms = excluded.lease_timeout_ms,
          priority = excluded.priority,
          slices = excluded.slices,
          paused = excluded.paused,
          paused_reason = CASE WHEN excluded.paused THEN t.paused_reason END,
          -- Requests are signed with both secrets for a while, so that receivers can switch.
          previous_secret = CASE WHEN excluded.signing_secret IS DISTINCT FROM t.signing_secret
                                      AND excluded.signing_secret IS NOT NULL
                                 THEN t.signing_secret ELSE t.previous_secret END,
          previous_secret_until = CASE WHEN excluded.signing_secret IS DISTINCT FROM t.signing_secret
                                            AND excluded.signing_secret IS NOT NULL
                                       THEN clock_timestamp() + make_interval(secs => ?)
                                       ELSE t.previous_secret_until END,
          signing_secret = coalesce(excluded.signing_secret, t.signing_secret),
          on_complete = excluded.on_complete,
          on_dead = excluded.on_dead,
          status_rules = excluded.status_rules,
          schema = excluded.schema,
          version = t.version + 1
      """;

  /** Requests are signed with the new and the previous secret for 24 hours. */
  public Result put(
      TenantId tenant, String name, Settings settings, String who, @Nullable Integer ifVersion) {
    Result result =
        db.inTransaction(
            tx -> {
              Optional<TaskType> before = lock(tx, tenant, name);
              if (ifVersion != null && before.isEmpty()) {
                return new Result.NotFound();
              }
              if (ifVersion != null && ifVersion != before.get().version()) {
                return new Result.StaleVersion(before.get());
              }
              Catalog.announceType(tx, tenant, name);
              put(tx, tenant, name, settings.keeping(before.orElse(null)));
              if (before.isEmpty() && !TaskType.isOwn(name)) {
                TenantLimits.refuseIfOver(tx, tenant, TenantLimit.TYPES);
              }
              TaskType now = find(tx, tenant, name).orElseThrow();
              String detail =
                  before
                      .map(old -> AuditDetail.changed(old, now))
                      .orElseGet(() -> AuditDetail.created(AuditDetail.of(now)));
              Audit.record(tx, tenant, who, "type.put", name, detail);
              return new Result.Saved(now, before.isEmpty());
            });
    catalog.refresh();
    return result;
  }

  private static void put(Tx tx, TenantId tenant, String name, Settings settings) {
    TaskType defaults = TaskType.withDefaults(name);
    tx.update(
        PUT,
        tenant,
        name,
        Sql.json(settings.target()),
        Sql.json(settings.retry()),
        settings.timeout() == null ? defaults.timeout() : settings.timeout(),
        settings.leaseTimeout() == null ? defaults.leaseTimeout() : settings.leaseTimeout(),
        settings.priority() == null ? defaults.priority() : settings.priority(),
        settings.slices() == null ? defaults.slices() : settings.slices(),
        settings.paused(),
        settings.signingSecret() == null ? null : settings.signingSecret().bytes(),
        Sql.json(settings.callbacks().onComplete()),
        Sql.json(settings.callbacks().onDead()),
        Sql.json(settings.statuses()),
        settings.schema(),
        ROTATION.toSeconds());
  }

  private static final String DELETE =
      """
      /* Types.delete */
      DELETE FROM carillon.task_type
      WHERE tenant = ?
        AND name = ?
      """;

  private static final String HAS_WAITING =
      """
      /* Types.hasWaiting */
      SELECT FROM carillon.queue_{partition}
      WHERE lane = ANY (?)
      LIMIT 1
      """;

  private static final String HAS_RUNNING =
      """
      /* Types.hasRunning */
      SELECT FROM carillon.claim c
      CROSS JOIN LATERAL unnest(c.tenants, c.tasks, c.fences) AS held (tenant, id, fence)
      JOIN carillon.task t ON t.tenant = held.tenant AND t.id = held.id
      WHERE c.partition = DATE '{day}'
        AND t.partition = DATE '{day}'
        AND held.tenant = ?
        AND t.lane = ANY (?)
        AND t.state = 'PENDING'
        AND t.fence = held.fence - 1
      LIMIT 1
      """;

  private static final String NAMED_BY =
      """
      /* Types.namedBy */
      SELECT name
      FROM carillon.schedule
      WHERE tenant = ?
        AND type = ?
      LIMIT 1
      """;

  public Result delete(TenantId tenant, String name, String who, @Nullable Integer ifVersion) {
    Result result =
        Partitions.whileTheyChange(
            () -> db.inTransaction(tx -> delete(tx, tenant, name, who, ifVersion)));
    catalog.refresh();
    return result;
  }

  private static boolean hasWaiting(Tx tx, Column lanes) {
    return Partitions.inGroups(tx).stream()
        .anyMatch(partitions -> tx.readUnlocking(() -> hasWaiting(tx, lanes, partitions)));
  }

  private static boolean hasWaiting(Tx tx, Column lanes, List<Partition> partitions) {
    return partitions.stream()
        .anyMatch(
            partition ->
                !tx.query(Sql.forPartition(HAS_WAITING, partition), row -> true, lanes).isEmpty());
  }

  private static boolean hasRunning(Tx tx, TenantId tenant, Column lanes) {
    return Partitions.claimed(tx).stream()
        .anyMatch(
            partition ->
                !tx.query(Sql.forPartition(HAS_RUNNING, partition), row -> true, tenant, lanes)
                    .isEmpty());
  }

  private Result delete(
      Tx tx, TenantId tenant, String name, String who, @Nullable Integer ifVersion) {
    Optional<TaskType> type = lock(tx, tenant, name);
    if (type.isEmpty()) {
      return new Result.NotFound();
    }
    if (ifVersion != null && ifVersion != type.get().version()) {
      return new Result.StaleVersion(type.get());
    }
    Column lanes = CatalogRows.lanes(tx, tenant, name);
    // Waiting tasks twice: a task that starts after the first query is seen by the second, and one
    // that ends its attempt after the second, to wait for its retry, by the third.
    if (hasWaiting(tx, lanes) || hasRunning(tx, tenant, lanes) || hasWaiting(tx, lanes)) {
      return new Result.LiveTasks();
    }
    Optional<String> schedule = tx.queryOne(NAMED_BY, row -> row.getString("name"), tenant, name);
    if (schedule.isPresent()) {
      return new Result.NamedBySchedule(schedule.get());
    }
    tx.update(DELETE, tenant, name);
    String detail = AuditDetail.deleted(AuditDetail.of(type.get()));
    Audit.record(tx, tenant, who, "type.delete", name, detail);
    return new Result.Deleted();
  }

  private static final String SET_PAUSED =
      """
      /* Types.setPaused */
      UPDATE carillon.task_type
      SET paused = ?,
          paused_reason = ?,
          version = version + 1
      WHERE tenant = ?
        AND name = ?
      """;

  /** Pauses or resumes a type. This process sees it at once, others within a second. */
  public Result setPaused(Tx tx, TenantId tenant, String name, boolean paused, String who) {
    if (tx.update(SET_PAUSED, paused, null, tenant, name) == 0) {
      return new Result.NotFound();
    }
    Audit.record(tx, tenant, who, paused ? "type.pause" : "type.resume", name, null);
    tx.afterCommit(catalog::refresh);
    return new Result.Saved(find(tx, tenant, name).orElseThrow(), false);
  }

  /** Pauses a type for a reason that no person gave. */
  public static void pauseBecause(Tx tx, TenantId tenant, String name, String reason) {
    tx.update(SET_PAUSED, true, reason, tenant, name);
    String detail = Json.of(Map.of("reason", reason)).toString();
    Audit.record(tx, tenant, "carillon", "type.pause", name, detail);
  }
}
