package carillon.store.catalog;

import carillon.model.TenantId;
import carillon.model.TenantLimit;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.security.MessageDigest;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** API keys. Only a hash of each is stored. */
public final class ApiKeys {

  /** How long a revoked key may still work on another node. */
  private static final Duration REMEMBERED = Duration.ofSeconds(2);

  private static final int MAX_REMEMBERED = 10_000;

  private final Db db;
  private final Catalog catalog;
  private final DbClock clock;
  private final Map<String, Remembered> remembered = new ConcurrentHashMap<>();

  public ApiKeys(Db db, Catalog catalog, DbClock clock) {
    this.db = db;
    this.catalog = catalog;
    this.clock = clock;
  }

  private record Remembered(ApiKey key, String hash, Instant readAt) {}

  private static final String COLUMNS =
      "id, tenant, name, role, types, encode(hash, 'hex') AS hash, created_at, expires_at,"
          + " revoked_at";

  private static final String CREATE =
      """
      /* ApiKeys.create */
      INSERT INTO carillon.api_key (id, tenant, name, role, types, hash, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      RETURNING %s
      """
          .formatted(COLUMNS);

  public ApiKey create(
      Tx tx,
      TenantId tenant,
      String id,
      String name,
      String role,
      List<String> types,
      byte[] hash,
      @Nullable Instant expiresAt,
      String who) {
    TenantLimits.hold(tx, tenant, TenantLimit.KEYS);
    ApiKey key =
        tx.query(
                CREATE,
                this::key,
                id,
                tenant,
                name,
                role,
                Column.texts(types, type -> type),
                hash,
                expiresAt)
            .getFirst();
    TenantLimits.refuseIfOver(tx, tenant, TenantLimit.KEYS);
    String detail = AuditDetail.created(AuditDetail.ofKey(name, role, types, expiresAt));
    Audit.record(tx, tenant, who, "key.create", id, detail);
    return key;
  }

  private static final String FIND =
      """
      /* ApiKeys.findLive */
      SELECT %s
      FROM carillon.api_key
      WHERE id = ?
        AND revoked_at IS NULL
      """
          .formatted(COLUMNS);

  /**
   * The key with this id and hash, neither revoked nor expired; from memory when it was read in the
   * last 2 s.
   */
  public Optional<ApiKey> findLive(String id, byte[] hash) {
    Instant now = clock.instant();
    Remembered known = remembered.get(id);
    if (known == null || isOld(known, now)) {
      known =
          db.inTransaction(tx -> tx.queryOne(FIND, row -> remembered(row, now), id)).orElse(null);
      remember(id, known);
    }
    return Optional.ofNullable(known).flatMap(key -> live(key, hash, now));
  }

  /** The key if it is in memory. Never queries the database. */
  public Optional<ApiKey> findRemembered(String id, byte[] hash) {
    Instant now = clock.instant();
    Remembered known = remembered.get(id);
    return known == null || isOld(known, now) ? Optional.empty() : live(known, hash, now);
  }

  private static boolean isOld(Remembered known, Instant now) {
    return known.readAt().plus(REMEMBERED).isBefore(now);
  }

  private static Optional<ApiKey> live(Remembered known, byte[] hash, Instant now) {
    ApiKey key = known.key();
    return MessageDigest.isEqual(HexFormat.of().parseHex(known.hash()), hash)
            && (key.expiresAt() == null || key.expiresAt().isAfter(now))
        ? Optional.of(key)
        : Optional.empty();
  }

  private static final String FIND_ALL =
      """
      /* ApiKeys.remember */
      SELECT %s
      FROM carillon.api_key
      WHERE id = ANY (?)
        AND revoked_at IS NULL
      """
          .formatted(COLUMNS);

  /**
   * Reads all these keys again with one statement, before the caller looks up each of them.
   *
   * @return the keys that exist and are not revoked
   */
  public Set<String> remember(Collection<String> ids) {
    Instant now = clock.instant();
    Set<String> found = new HashSet<>();
    db.autoCommit(
            tx -> tx.query(FIND_ALL, row -> remembered(row, now), Column.texts(ids, id -> id)))
        .forEach(
            each -> {
              found.add(each.key().id());
              remember(each.key().id(), each);
            });
    ids.stream().filter(id -> !found.contains(id)).forEach(remembered::remove);
    return found;
  }

  private void remember(String id, @Nullable Remembered key) {
    if (remembered.size() >= MAX_REMEMBERED) {
      remembered.clear();
    }
    if (key == null) {
      remembered.remove(id);
    } else {
      remembered.put(id, key);
    }
  }

  private Remembered remembered(ResultSet row, Instant now) throws SQLException {
    return new Remembered(key(row), row.getString("hash"), now);
  }

  private static final String LIST =
      """
      /* ApiKeys.list */
      SELECT %s
      FROM carillon.api_key
      WHERE tenant = ?
        AND id > ?
        AND role = ANY (?)
      ORDER BY id
      LIMIT ?
      """
          .formatted(COLUMNS);

  /** The tenant's keys of these roles. */
  public Page<ApiKey, String> list(
      TenantId tenant, List<String> roles, int limit, @Nullable String afterId) {
    List<ApiKey> keys =
        db.inTransaction(
            tx ->
                tx.query(
                    LIST,
                    this::key,
                    tenant,
                    afterId == null ? "" : afterId,
                    Column.texts(roles, role -> role),
                    limit + 1));
    return keys.size() <= limit
        ? new Page<>(keys, null)
        : new Page<>(keys.subList(0, limit), keys.get(limit - 1).id());
  }

  private static final String REVOKE =
      """
      /* ApiKeys.revoke */
      UPDATE carillon.api_key
      SET revoked_at = coalesce(revoked_at, clock_timestamp())
      WHERE tenant = ?
        AND id = ?
        AND role = ANY (?)
      RETURNING %s
      """
          .formatted(COLUMNS);

  /** False if this tenant has no such key with one of these roles. */
  public boolean revoke(TenantId tenant, String id, List<String> roles, String who) {
    Optional<ApiKey> found =
        db.inTransaction(
            tx -> {
              Optional<ApiKey> key =
                  tx.queryOne(REVOKE, this::key, tenant, id, Column.texts(roles, role -> role));
              key.ifPresent(old -> Audit.record(tx, tenant, who, "key.revoke", id, detail(old)));
              return key;
            });
    remembered.remove(id);
    return found.isPresent();
  }

  private static String detail(ApiKey key) {
    return AuditDetail.deleted(
        AuditDetail.ofKey(key.name(), key.role(), key.types(), key.expiresAt()));
  }

  private ApiKey key(ResultSet row) throws SQLException {
    return new ApiKey(
        row.getString("id"),
        catalog.tenant(new TenantId(row.getInt("tenant"))),
        row.getString("name"),
        row.getString("role"),
        Arrays.asList((String[]) row.getArray("types").getArray()),
        Sql.requiredInstant(row, "created_at"),
        Sql.instant(row, "expires_at"),
        Sql.instant(row, "revoked_at"));
  }
}
