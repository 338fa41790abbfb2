package carillon.store.db;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.Grants;
import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import carillon.model.task.AlertSetting;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskState;
import java.sql.Array;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * How our values cross into JDBC and back, and how a statement is aimed at one partition's own
 * tables.
 */
public final class Sql {

  private static final Map<PartitionStatement, String> FOR_PARTITION = new ConcurrentHashMap<>();

  private static final Map<List<String>, String> TOGETHER = new ConcurrentHashMap<>();

  private record PartitionStatement(String template, Partition partition) {}

  private Sql() {}

  /**
   * The statement with {@code {partition}} replaced by the partition's suffix and {@code {day}} by
   * its date. Hot statements name the partition: through the parent they would lock all partitions
   * and plan for them. Statements that must also work without the partition compare the parent's
   * partition column with the date: the constant lets the planner leave out all others before they
   * are locked. Both are derived from a date, never from a client's text.
   */
  public static String forPartition(String template, Partition partition) {
    return FOR_PARTITION.computeIfAbsent(
        new PartitionStatement(template, partition),
        s ->
            s.template()
                .replace("{partition}", s.partition().suffix())
                .replace("{day}", s.partition().day().toString()));
  }

  private static final String EXISTS =
      """
      /* Sql.isThere */
      SELECT FROM carillon.partition
      WHERE day = ?
      """;

  /**
   * Whether the partition exists or existed: an id from a client can name any day, and no statement
   * should be cached for days without a partition. Queries the database only the first time; a
   * statement for a day that was dropped since finds no rows.
   */
  public static boolean isThere(Tx tx, String template, Partition partition) {
    return FOR_PARTITION.containsKey(new PartitionStatement(template, partition))
        || !tx.query(EXISTS, row -> true, partition).isEmpty();
  }

  /** Several statements as one text, which is kept: it is long, and the driver looks it up. */
  static String together(List<String> statements) {
    return TOGETHER.computeIfAbsent(statements, some -> String.join(";", some));
  }

  /** Called when a partition is dropped, because its statements are not needed any more. */
  public static void forgetPartition(Partition partition) {
    TOGETHER.clear();
    FOR_PARTITION.keySet().removeIf(statement -> statement.partition().equals(partition));
  }

  /** The name that every statement starts with. */
  public static String name(String sql) {
    int end = sql.indexOf("*/");
    return sql.startsWith("/* ") && end > 0 ? sql.substring(3, end).strip() : "statement";
  }

  public static void bind(PreparedStatement statement, int index, @Nullable Object value)
      throws SQLException {
    switch (value) {
      case null -> statement.setNull(index, Types.NULL);
      case Instant instant -> statement.setObject(index, instant.atOffset(ZoneOffset.UTC));
      case Duration duration -> statement.setLong(index, duration.toMillis());
      case TenantId tenant -> statement.setInt(index, tenant.value());
      case TaskId id -> statement.setObject(index, id.value());
      case Partition partition -> statement.setObject(index, partition.day());
      case Column column -> column.bind(statement, index);
      default -> statement.setObject(index, value);
    }
  }

  /** Of a row with the task's id, lane and attempt. */
  public static Transitions.Moved moved(ResultSet row, TaskState from, TaskState to)
      throws SQLException {
    return new Transitions.Moved(
        new TaskId(uuid(row, "id")), row.getInt("lane"), from, to, row.getInt("attempt"));
  }

  /** As make_interval wants them. */
  public static double seconds(Duration duration) {
    return duration.toMillis() / 1000.0;
  }

  public static @Nullable String json(@Nullable Target target) {
    return target == null ? null : Json.of(target).toString();
  }

  public static @Nullable String json(@Nullable RetryPolicy retry) {
    return retry == null ? null : Json.of(retry).toString();
  }

  public static @Nullable String json(AlertSetting alert) {
    return switch (alert) {
      case AlertSetting.Inherited() -> null;
      case AlertSetting.Off() -> "null";
      case AlertSetting.Own(var rule) -> Json.of(rule).toString();
    };
  }

  public static @Nullable String json(StatusRules rules) {
    return rules.equals(StatusRules.DEFAULT) ? null : Json.of(rules).toString();
  }

  public static @Nullable String json(Map<String, String> pairs) {
    return pairs.isEmpty() ? null : Json.of(pairs).toString();
  }

  public static @Nullable Instant instant(ResultSet row, String column) throws SQLException {
    OffsetDateTime value = row.getObject(column, OffsetDateTime.class);
    return value == null ? null : value.toInstant();
  }

  public static Instant requiredInstant(ResultSet row, String column) throws SQLException {
    return row.getObject(column, OffsetDateTime.class).toInstant();
  }

  public static @Nullable Integer integer(ResultSet row, String column) throws SQLException {
    int value = row.getInt(column);
    return row.wasNull() ? null : value;
  }

  public static UUID uuid(ResultSet row, String column) throws SQLException {
    return row.getObject(column, UUID.class);
  }

  public static UUID[] uuids(ResultSet row, String column) throws SQLException {
    Array array = row.getArray(column);
    return (UUID[]) array.getArray();
  }

  public static Integer[] integers(ResultSet row, String column) throws SQLException {
    Array array = row.getArray(column);
    return (Integer[]) array.getArray();
  }

  public static long[] longs(ResultSet row, String column) throws SQLException {
    Array array = row.getArray(column);
    return Arrays.stream((Long[]) array.getArray()).mapToLong(Long::longValue).toArray();
  }

  /** Null where nothing is set. */
  public static @Nullable Grants grants(ResultSet row, String column) throws SQLException {
    Array array = row.getArray(column);
    return array == null
        ? null
        : new Grants(
            Arrays.stream((String[]) array.getArray())
                .flatMap(text -> Grants.Grant.parse(text).stream())
                .toList());
  }

  public static @Nullable Column texts(@Nullable Grants grants) {
    return grants == null || grants.all() == null
        ? null
        : Column.texts(grants.all(), Grants.Grant::text);
  }

  /** Of PostgreSQL's smallint, which the driver may give as either. */
  public static List<Integer> shorts(Array array) throws SQLException {
    return Arrays.stream((Number[]) array.getArray()).map(Number::intValue).toList();
  }
}
