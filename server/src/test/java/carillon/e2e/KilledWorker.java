package carillon.e2e;

import carillon.client.Carillon;
import carillon.client.sql.Ledger;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;

/** A worker process that the test kills: it increments a row for each task, through the ledger. */
final class KilledWorker {

  static final Duration LEASE = Duration.ofSeconds(2);
  static final String TYPE = "count";

  private KilledWorker() {}

  private static final String DELIVERED =
      """
      INSERT INTO delivery (task, fence, worker)
      VALUES (?, ?, ?)
      """;

  private static final String EFFECT =
      """
      WITH slow AS MATERIALIZED (SELECT pg_sleep(0.02))
      UPDATE effect
      SET n = n + 1
      FROM slow
      WHERE key = ?
      """;

  private static final String SKIPPED =
      """
      INSERT INTO skipped (task)
      VALUES (?)
      """;

  /**
   * Handles tasks until it is killed.
   *
   * @param arguments URL of the server, API key, name of the worker, and URL, user and password of
   *     the database
   */
  public static void main(String[] arguments) throws InterruptedException {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(arguments[3]);
    config.setUsername(arguments[4]);
    config.setPassword(arguments[5]);
    config.setMaximumPoolSize(5);
    HikariDataSource database = new HikariDataSource(config);
    Ledger ledger = Ledger.of(database);
    String name = arguments[2];
    Carillon.connect(arguments[0], arguments[1])
        .worker(name)
        .handle(
            TYPE,
            context -> {
              execute(database, DELIVERED, context.id(), context.fence(), name);
              boolean isNew =
                  ledger.once(
                      context,
                      connection -> execute(connection, EFFECT, String.valueOf(context.key())));
              if (!isNew) {
                execute(database, SKIPPED, context.id());
              }
              // As long as the effect: half of the kills hit between the commit and the report.
              execute(database, "DO 'BEGIN PERFORM pg_sleep(0.02); END'");
              return null;
            })
        .concurrency(4)
        .prefetch(8)
        .lease(LEASE)
        .start()
        .awaitStopped();
  }

  private static void execute(HikariDataSource database, String sql, Object... values)
      throws SQLException {
    try (Connection connection = database.getConnection()) {
      execute(connection, sql, values);
    }
  }

  private static void execute(Connection connection, String sql, Object... values)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int i = 0; i < values.length; i++) {
        statement.setObject(i + 1, values[i]);
      }
      statement.executeUpdate();
    }
  }
}
