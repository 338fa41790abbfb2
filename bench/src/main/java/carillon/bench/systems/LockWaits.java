package carillon.bench.systems;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Measures how long sessions wait for locks: sampled from {@code pg_stat_activity}, with long waits
 * counted in the server's log.
 */
public final class LockWaits implements AutoCloseable {

  /** Makes the server log long waits; set for the database before the first connection. */
  static final String SETTINGS =
      """
      DO $$
      BEGIN
          EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''10ms''', current_database());
          EXECUTE format('ALTER DATABASE %I SET log_lock_waits = on', current_database());
      END
      $$
      """;

  private static final Duration STEP = Duration.ofMillis(20);
  private static final String LOGGED = " still waiting for ";

  private static final String SAMPLE =
      """
      SELECT /* bench */ coalesce(wait_event, '?') AS event, count(*) AS sessions
      FROM pg_stat_activity
      WHERE datname = current_database()
        AND wait_event_type = 'Lock'
      GROUP BY 1
      """;

  private final Connection connection;
  private final Path log;
  private final long logged;
  private final Thread thread;
  private final Map<String, Duration> events =
      new TreeMap<>(); // confined to the thread until it has ended
  private @Nullable SQLException failure; // confined to the thread until it has ended
  private volatile boolean isStopped;

  /**
   * The observed waits.
   *
   * @param waited total of all sessions
   * @param events the wait events with their total times
   * @param longWaits how many waits took longer than 10 ms
   */
  public record Observed(Duration waited, String events, int longWaits) {}

  private LockWaits(Connection connection, Path log) throws IOException {
    this.connection = connection;
    this.log = log;
    this.logged = Files.size(log);
    this.thread = Thread.ofPlatform().name("lock-waits").start(this::sample);
  }

  public static LockWaits watch(Database database, Path log) throws SQLException, IOException {
    Connection connection = database.asSuperuser().connect();
    try {
      return new LockWaits(connection, log);
    } catch (IOException e) {
      connection.close();
      throw e;
    }
  }

  private void sample() {
    try (PreparedStatement statement = connection.prepareStatement(SAMPLE)) {
      long last = System.nanoTime();
      while (!isStopped) {
        Thread.sleep(STEP);
        long now = System.nanoTime();
        try (ResultSet rows = statement.executeQuery()) {
          while (rows.next()) {
            Duration waited = Duration.ofNanos((now - last) * rows.getLong("sessions"));
            events.merge(rows.getString("event"), waited, Duration::plus);
          }
        }
        last = now;
      }
    } catch (SQLException e) {
      failure = e; // reported with the result
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  public Observed stop() throws InterruptedException, SQLException {
    isStopped = true;
    thread.join();
    if (failure != null) {
      throw new SQLException("sampling of lock waits failed", failure);
    }
    Duration waited = events.values().stream().reduce(Duration.ZERO, Duration::plus);
    StringBuilder text = new StringBuilder();
    events.forEach((event, time) -> text.append("%s %d ms, ".formatted(event, time.toMillis())));
    return new Observed(
        waited, text.isEmpty() ? "none" : text.substring(0, text.length() - 2), longWaits());
  }

  private int longWaits() {
    try (FileChannel channel = FileChannel.open(log);
        Stream<String> lines =
            new BufferedReader(Channels.newReader(channel.position(logged), StandardCharsets.UTF_8))
                .lines()) {
      return (int) lines.filter(line -> line.contains(LOGGED)).count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() throws SQLException {
    isStopped = true;
    connection.close();
  }
}
