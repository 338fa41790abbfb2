package carillon.store.db;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Looks at the database before anything is entrusted to it. */
public final class DatabaseCheck {

  private static final int OLDEST = 150_000;
  private static final Duration TIMEOUT = Duration.ofSeconds(15);

  /** Required settings: without them an acknowledged task could be lost. */
  private static final Map<String, Set<String>> DURABLE =
      Map.of(
          "fsync", Set.of("on"),
          "full_page_writes", Set.of("on"),
          "synchronous_commit", Set.of("on", "remote_apply"));

  private DatabaseCheck() {}

  /** Why Carillon must not start on this database, in one line; empty if it may. */
  public static Optional<String> refusal(Db.Address address) {
    ConnectionSource source = ConnectionSource.of(address, TIMEOUT);
    if (address.pooler() == Pooler.NONE) {
      // As the pools do: a server that rejects it is refused here, before anything is written.
      source = source.with("options", Settings.of(TIMEOUT).asOptions());
    }
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      return Optional.ofNullable(refusal(statement));
    } catch (SQLException e) {
      return Optional.of("cannot use the database: " + firstLine(e.getMessage()) + hint(e));
    }
  }

  /** Relations of a day that a statement over all days locks: tasks, the queue, their indexes. */
  private static final int LOCKS_A_DAY = 6;

  /** Partitions ahead: 33 days, 12 months, 5 quarters, and some to spare. */
  private static final int DAYS_AHEAD = 60;

  /** Such statements that may run at once. */
  private static final int AT_ONCE = 16;

  /**
   * A setting that the operator should change although Carillon can start; empty if none.
   *
   * @param retention each of its days has partitions, and statements over all days lock all of them
   */
  public static Optional<String> advice(Db.Address address, Duration retention) {
    try (Connection connection = ConnectionSource.of(address, TIMEOUT).getConnection();
        Statement statement = connection.createStatement()) {
      long own = Long.parseLong(show(statement, "max_locks_per_transaction"));
      long sessions =
          Long.parseLong(show(statement, "max_connections"))
              + Long.parseLong(show(statement, "max_prepared_transactions"));
      // PostgreSQL has room for twice as many locks as for things that are locked.
      long needed =
          Math.ceilDiv(LOCKS_A_DAY * AT_ONCE * (retention.toDays() + DAYS_AHEAD), 2 * sessions);
      return own >= needed
          ? Optional.empty()
          : Optional.of(
              "max_locks_per_transaction is %d, too few for partitions of %d days: set it to %d or more"
                  .formatted(own, retention.toDays(), needed));
    } catch (SQLException e) {
      return Optional.empty(); // the next part that needs the database reports the error
    }
  }

  private static String hint(SQLException e) {
    String message = String.valueOf(e.getMessage());
    return message.contains("unsupported startup parameter")
        ? "; if this is a pooler in transaction mode, start with --pooler transaction"
        : "";
  }

  private static @Nullable String refusal(Statement statement) throws SQLException {
    int version = Integer.parseInt(show(statement, "server_version_num"));
    if (version < OLDEST) {
      return "PostgreSQL "
          + show(statement, "server_version")
          + " is too old: Carillon needs 15 or later";
    }
    for (var setting : DURABLE.entrySet()) {
      String value = show(statement, setting.getKey());
      if (!setting.getValue().contains(value)) {
        return "the database has "
            + setting.getKey()
            + " = "
            + value
            + ", so it could lose tasks that were accepted: set it to on";
      }
    }
    String encoding = show(statement, "server_encoding");
    if (!encoding.equals("UTF8")) {
      return "the database's encoding is " + encoding + ": Carillon needs UTF8";
    }
    if (show(statement, "transaction_read_only").equals("on")) {
      return "the database is read-only: connect to the primary";
    }
    String missing = missingRight(statement);
    return missing == null ? strangersTables(statement) : missing;
  }

  private static final String MISSING_RIGHT =
      """
      /* DatabaseCheck.missingRight */
      SELECT quote_ident(current_user) AS who, quote_ident(current_database()) AS db, n.oid IS NOT NULL AS has_schema
      FROM (SELECT to_regnamespace('carillon') AS oid) n
      WHERE CASE
                WHEN n.oid IS NULL THEN NOT has_database_privilege(current_database(), 'CREATE')
                ELSE NOT has_schema_privilege(n.oid, 'CREATE')
            END
      """;

  /** The schema is created at the first start, and its tables by migrations, day by day. */
  private static @Nullable String missingRight(Statement statement) throws SQLException {
    try (ResultSet row = statement.executeQuery(MISSING_RIGHT)) {
      if (!row.next()) {
        return null;
      }
      String who = row.getString("who");
      return row.getBoolean("has_schema")
          ? "the role %s may not create tables in the schema carillon: connect as its owner, or ALTER SCHEMA carillon OWNER TO %s"
              .formatted(who, who)
          : "the role %s may not create the schema carillon: CREATE SCHEMA carillon AUTHORIZATION %s, or GRANT CREATE ON DATABASE %s TO %s"
              .formatted(who, who, row.getString("db"), who);
    }
  }

  private static final String OWNER =
      """
      /* DatabaseCheck.owner */
      SELECT current_user AS who, pg_get_userbyid(c.relowner) AS owner
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = 'carillon'
        AND c.relname = 'task'
        AND NOT pg_has_role(c.relowner, 'USAGE')
      """;

  /** Only the owner of a table can add partitions to it, and one is needed every day. */
  private static @Nullable String strangersTables(Statement statement) throws SQLException {
    try (ResultSet row = statement.executeQuery(OWNER)) {
      return row.next()
          ? "the tables belong to %1$s, and %2$s cannot create their partitions: connect as %1$s, or GRANT %1$s TO %2$s and ALTER ROLE %2$s SET role = '%1$s'"
              .formatted(row.getString("owner"), row.getString("who"))
          : null;
    }
  }

  private static String show(Statement statement, String setting) throws SQLException {
    try (ResultSet row = statement.executeQuery("SHOW " + setting)) {
      row.next();
      return row.getString(1);
    }
  }

  private static String firstLine(@Nullable String message) {
    return message == null
        ? "no reason given"
        : message.lines().findFirst().orElse("no reason given");
  }
}
