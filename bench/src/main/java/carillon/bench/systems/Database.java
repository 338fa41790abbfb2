package carillon.bench.systems;

import carillon.bench.figures.Sample;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.stream.DoubleStream;

/**
 * One database of the benchmark's PostgreSQL.
 *
 * @param role the owner of the database, which the systems connect as
 * @param superuser for settings, statistics and maintenance by the benchmark
 * @param postgres the process id of the postmaster
 */
public record Database(
    String host, int port, String name, Login role, Login superuser, long postgres)
    implements Store {

  /** A name and its password. */
  record Login(String user, String password) {
    @Override
    public String toString() {
      return user;
    }
  }

  /** Tables that changed since their last vacuum or analyze, or that had none. */
  private static final String CHANGED =
      """
      SELECT coalesce(string_agg(c.oid::regclass::text, ', '), '')
      FROM pg_class c
      CROSS JOIN LATERAL pg_visibility_map_summary(c.oid) seen
      WHERE c.relkind IN ('r', 'm')
        AND c.relpersistence <> 't'
        AND (c.reltuples < 0
             OR pg_stat_get_mod_since_analyze(c.oid) > 0
             OR seen.all_visible < pg_relation_size(c.oid) / current_setting('block_size')::int)
      """;

  private static final String PARTITIONED =
      """
      SELECT coalesce(
                 string_agg(
                     CASE WHEN current_setting('server_version_num')::int >= 180000 THEN 'ONLY ' ELSE '' END
                         || c.oid::regclass::text,
                     ', '),
                 '')
      FROM pg_class c
      WHERE c.relkind = 'p'
      """;

  /** In the format that Carillon and the other schedulers accept. */
  @Override
  public String url() {
    return "postgresql://%s:%s@%s:%d/%s".formatted(role.user(), role.password(), host, port, name);
  }

  /** The same database with a superuser's connections, for settings, statistics and vacuum. */
  Database asSuperuser() {
    return new Database(host, port, name, superuser, superuser, postgres);
  }

  @Override
  public long pid() {
    return postgres;
  }

  @Override
  public Snapshot holdSnapshot() throws SQLException {
    Connection holder = connect();
    holder.setAutoCommit(false);
    holder.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
    try (Statement statement = holder.createStatement()) {
      statement.execute("SELECT 1");
    }
    return holder::close;
  }

  Connection connect() throws SQLException {
    return DriverManager.getConnection(
        "jdbc:postgresql://%s:%d/%s".formatted(host, port, name), role.user(), role.password());
  }

  public void execute(String sql) throws SQLException {
    try (Connection connection = connect();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** The first column of the only row. */
  public String one(String sql, Object... arguments) throws SQLException {
    try (Connection connection = connect();
        PreparedStatement statement = prepare(connection, sql, arguments);
        ResultSet rows = statement.executeQuery()) {
      rows.next();
      return rows.getString(1);
    }
  }

  /** The first column of all rows. */
  double[] column(String sql, Object... arguments) throws SQLException {
    try (Connection connection = connect();
        PreparedStatement statement = prepare(connection, sql, arguments);
        ResultSet rows = statement.executeQuery()) {
      DoubleStream.Builder values = DoubleStream.builder();
      while (rows.next()) {
        values.add(rows.getDouble(1));
      }
      return values.build().toArray();
    }
  }

  private static PreparedStatement prepare(Connection connection, String sql, Object... arguments)
      throws SQLException {
    PreparedStatement statement = connection.prepareStatement(sql);
    for (int i = 0; i < arguments.length; i++) {
      statement.setObject(i + 1, arguments[i]);
    }
    return statement;
  }

  /** The numbers of the only row, by the names of its columns; NULL is 0. */
  public Sample row(String sql, Object... arguments) throws SQLException {
    try (Connection connection = connect()) {
      return row(connection, sql, arguments);
    }
  }

  private static Sample row(Connection connection, String sql, Object... arguments)
      throws SQLException {
    try (PreparedStatement statement = prepare(connection, sql, arguments);
        ResultSet rows = statement.executeQuery()) {
      rows.next();
      Sample row = new Sample();
      for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
        row.with(rows.getMetaData().getColumnLabel(i), rows.getDouble(i));
      }
      return row;
    }
  }

  /**
   * How many due tasks wait, and for how many seconds the first of them.
   *
   * @param from tasks that were due earlier are not counted: without this, the query would read the
   *     dead rows of all that have waited before
   */
  public Sample waiting(Instant from) throws SQLException {
    try (Connection connection = connect();
        Statement settings = connection.createStatement()) {
      settings.execute("SET enable_seqscan = off"); // statistics of a queue are out of date
      settings.execute("SET enable_bitmapscan = off");
      settings.execute("SET enable_hashjoin = off");
      settings.execute("SET enable_mergejoin = off");
      return row(connection, WAITING, from.toString());
    }
  }

  private static final String WAITING =
      """
      SELECT count(*) AS tasks,
             greatest(0, extract(epoch FROM clock_timestamp() - min(q.ready_at))) AS seconds
      FROM carillon.lane l
      JOIN carillon.queue q ON q.lane = l.id AND q.ready_at BETWEEN ?::timestamptz AND now()
      """;

  /**
   * Size and statistics of one of Carillon's tables with all its partitions. {@code other} are
   * TOAST, free space and visibility maps.
   */
  public Sample table(String name) throws SQLException {
    return row(TABLE, name);
  }

  private static final String TABLE =
      """
      SELECT coalesce(sum(pg_relation_size(c.oid)), 0) AS heap,
             coalesce(sum(pg_indexes_size(c.oid)), 0) AS indexes,
             coalesce(sum(pg_table_size(c.oid) - pg_relation_size(c.oid)), 0) AS other,
             coalesce(sum(pg_stat_get_dead_tuples(c.oid)), 0) AS dead,
             coalesce(sum(pg_stat_get_dead_tuples(c.reltoastrelid)), 0) AS toast_dead,
             coalesce(sum(pg_stat_get_tuples_updated(c.oid)), 0) AS updated,
             coalesce(sum(pg_stat_get_tuples_hot_updated(c.oid)), 0) AS hot,
             coalesce(sum(pg_stat_get_autovacuum_count(c.oid)), 0) AS autovacuums
      FROM pg_class c
      WHERE c.relnamespace = 'carillon'::regnamespace
        AND c.relkind = 'r'
        AND regexp_replace(c.relname, '_[0-9]{8}$', '') = ?
      """;

  /** Vacuums one of Carillon's tables with all its partitions. */
  public void vacuum(String table) throws SQLException {
    executeFor(
        "VACUUM ",
        asSuperuser() // with the search_path of the session that runs the VACUUM
            .one(
                """
                SELECT coalesce(string_agg(c.oid::regclass::text, ', '), '')
                FROM pg_class c
                WHERE c.relnamespace = 'carillon'::regnamespace
                  AND c.relkind = 'r'
                  AND regexp_replace(c.relname, '_[0-9]{8}$', '') = ?
                """,
                table));
  }

  @Override
  public double walBytes() throws SQLException {
    return Double.parseDouble(one("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"));
  }

  /** Includes the benchmark's statements, except those marked with a comment. */
  @Override
  public double statements() throws SQLException {
    return Double.parseDouble(
        asSuperuser()
            .one(
                """
                SELECT coalesce(sum(calls), 0)
                FROM pg_stat_statements s
                JOIN pg_database d ON d.oid = s.dbid
                WHERE d.datname = current_database()
                  AND s.toplevel
                  AND s.query NOT LIKE '%/* bench */%'
                """));
  }

  /** The statements with the longest total time, as text. */
  public String topStatements() throws SQLException {
    return asSuperuser()
        .one(
            """
            SELECT coalesce(string_agg(format('%10s ms %8s calls %9s rows  %8s us/row %9s blocks  %s',
                                     round(total_exec_time), calls, rows,
                                     round((total_exec_time * 1000 / greatest(rows, 1))::numeric, 1),
                                     shared_blks_hit + shared_blks_read,
                                     left(regexp_replace(query, '\\s+', ' ', 'g'), 70)), E'\\n'
                              ORDER BY total_exec_time DESC), '')
            FROM (SELECT *
                  FROM pg_stat_statements
                  WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                  ORDER BY total_exec_time DESC
                  LIMIT 12) s
            """);
  }

  /**
   * Updates the statistics and runs the vacuum that inserts would trigger. Skips unchanged tables,
   * such as the partitions of the next weeks.
   */
  @Override
  public void settle() throws SQLException {
    executeFor("VACUUM (ANALYZE) ", asSuperuser().one(CHANGED));
    executeFor("ANALYZE ", asSuperuser().one(PARTITIONED));
    asSuperuser().execute("SELECT pg_stat_statements_reset()");
  }

  private void executeFor(String command, String tables) throws SQLException {
    if (!tables.isEmpty()) {
      asSuperuser().execute(command + tables);
    }
  }

  @Override
  public void checkpoint() throws SQLException {
    asSuperuser().execute("CHECKPOINT");
  }

  /** Drops the database, even if sessions are connected to it. */
  @Override
  public void close() throws SQLException {
    new Database(host, port, "postgres", superuser, superuser, postgres)
        .execute("DROP DATABASE " + name + " WITH (FORCE)");
  }
}
