package carillon.client.sql;

import carillon.client.Carillon;
import carillon.client.CarillonException;
import carillon.client.NewTask;
import carillon.client.sql.OutboxBatches.Batch;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.ConnectException;
import java.net.http.HttpConnectTimeoutException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import javax.sql.DataSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.util.RawValue;

/**
 * A transactional outbox: tasks are written to a table of your own PostgreSQL database in your
 * transaction and forwarded to Carillon after it commits.
 *
 * <pre>{@code
 * Outbox outbox = Outbox.of(dataSource, carillon);
 * outbox.createTable();
 * try (OutboxRelay relay = outbox.start()) {
 *   ...
 *   outbox.add(connection, NewTask.of("order.confirm").payload(order));
 *   connection.commit();
 * }
 * }</pre>
 *
 * <p>Each committed row becomes one task. Rows are sent in batches. The id of a batch is committed
 * first and used as the idempotency key, so after a crash the same call is repeated, which Carillon
 * recognizes for 24 hours. A rejected batch is halved and sent with new keys, unless an earlier
 * call of it had no response. Any number of relays may run. Thread-safe.
 */
public final class Outbox {

  /** The statuses that reject the content of a request. */
  private static final Set<Integer> REJECTIONS = Set.of(400, 413, 415, 422);

  private static final Logger log = System.getLogger(Outbox.class.getName());
  private static final Duration RETRY_FAILED_AFTER = Duration.ofSeconds(30);

  private final Carillon carillon;
  private final DataSource database;
  private final Table table;
  private final OutboxBatches batches;
  private final Map<UUID, Long> skipped = new ConcurrentHashMap<>();

  /**
   * A row that Carillon rejected.
   *
   * @param task the task as JSON
   * @param error the error from Carillon
   */
  public record Refused(UUID id, String task, String error, Instant createdAt) {}

  private Outbox(DataSource database, Carillon carillon, Table table) {
    this.database = database;
    this.carillon = carillon;
    this.table = table;
    this.batches = new OutboxBatches(table);
  }

  /** An outbox in the table {@code carillon_outbox} of this database. */
  public static Outbox of(DataSource database, Carillon carillon) {
    return new Outbox(database, carillon, new Table("carillon_outbox"));
  }

  /** Returns this outbox in another table, such as {@code app.carillon_outbox}. */
  public Outbox inTable(String name) {
    return new Outbox(database, carillon, new Table(name));
  }

  private static final String CREATE =
      """
      /* Outbox.createTable */
      CREATE TABLE IF NOT EXISTS :table (
          id uuid PRIMARY KEY,
          task text NOT NULL,
          created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
          batch uuid,
          place int,
          sender uuid,
          error text
      );
      CREATE INDEX IF NOT EXISTS :index_waiting
      ON :table (created_at)
      WHERE batch IS NULL AND error IS NULL;
      CREATE INDEX IF NOT EXISTS :index_batch
      ON :table (batch, place)
      WHERE batch IS NOT NULL;
      """;

  /** Creates the table if it is missing. You can also create it in your own migration. */
  public void createTable() throws SQLException {
    table.create(database, CREATE);
  }

  private static final String ADD =
      """
      /* Outbox.add */
      INSERT INTO :table (id, task)
      VALUES (?, ?)
      """;

  /**
   * Adds a task in the open transaction of the connection. A delay counts from now, however late
   * the task is forwarded.
   *
   * @throws IllegalStateException if the connection is in autocommit mode
   * @throws IllegalArgumentException if the task is unique or has an idempotency key, which tasks
   *     in a batch cannot have
   */
  public void add(Connection connection, NewTask task) throws SQLException {
    if (connection.getAutoCommit()) {
      throw new IllegalStateException(
          "the connection is in autocommit mode: call setAutoCommit(false) first, and commit the"
              + " task with your own work");
    }
    try (PreparedStatement statement = connection.prepareStatement(table.sql(ADD))) {
      statement.setObject(1, UUID.randomUUID());
      statement.setString(2, json(task).toString());
      statement.executeUpdate();
    }
  }

  private ObjectNode json(NewTask task) {
    if (task.idempotencyKey() != null) {
      throw new IllegalArgumentException(
          "a task in an outbox cannot have an idempotency key: its row is sent once");
    }
    ObjectNode json = task.json(carillon.mapper());
    if (json.has("unique")) {
      throw new IllegalArgumentException(
          "a task in an outbox cannot be unique: it is created in a batch, after your commit;"
              + " leave out uniqueFor, or create it with enqueue");
    }
    JsonNode delay = json.path("delay");
    if (delay.isString()) {
      Instant dueAt = Instant.now().plus(Duration.parse(delay.asString()));
      json.remove("delay");
      json.put("dueAt", dueAt.truncatedTo(ChronoUnit.MILLIS).toString());
    }
    return json;
  }

  /** Starts a thread that forwards committed rows until it is closed. */
  public OutboxRelay start() {
    return OutboxRelay.start(this);
  }

  /**
   * Forwards one batch, for programs that do not want a relay thread.
   *
   * @return whether a batch was handled; there may be more
   * @throws CarillonException if Carillon is unreachable or unavailable; call again later, nothing
   *     is lost
   */
  public boolean relayOnce() throws SQLException {
    try (Connection connection = database.getConnection()) {
      return sendOne(connection)
          || (Transaction.run(connection, () -> batches.gather(connection)) && sendOne(connection));
    }
  }

  /**
   * Holds the lock on the batch during the call, so that it has one sender at a time and a crash
   * releases it.
   */
  private boolean sendOne(Connection connection) throws SQLException {
    Optional<Batch> taken =
        Transaction.run(connection, () -> batches.takeOne(connection, skipped()));
    if (taken.isEmpty()) {
      return false;
    }
    Batch batch = taken.get();
    Optional<CarillonException> failure =
        Transaction.run(
            connection,
            () -> batches.lock(connection, batch) ? send(connection, batch) : Optional.empty());
    if (failure.isPresent()) {
      throw failure.get();
    }
    return true;
  }

  /** Returns why the batch must be sent again; empty if it is settled. */
  private Optional<CarillonException> send(Connection connection, Batch batch) throws SQLException {
    List<String> tasks = batches.tasks(connection, batch.id());
    try {
      carillon.post(
          "/v1/tasks/batch",
          new RawValue("{\"tasks\":[" + String.join(",", tasks) + "]}"),
          batch.id().toString());
    } catch (CarillonException e) {
      if (REJECTIONS.contains(e.status())) {
        reject(connection, batch, tasks.size(), e);
        return Optional.empty();
      }
      if (e.status() == 500) {
        // The batch may be the cause, so others go first. It may have been stored, so it stays
        // whole.
        skipped.put(batch.id(), System.nanoTime());
      }
      if (!batch.isRepeat() && isSurelyUnsent(e)) {
        batches.markUnsent(connection, batch.id());
      }
      return Optional.of(e);
    }
    batches.delete(connection, batch.id());
    return Optional.empty();
  }

  private void reject(Connection connection, Batch batch, int rows, CarillonException why)
      throws SQLException {
    String error = String.valueOf(why.getMessage());
    if (batch.isRepeat() || why.code().equals("idempotency_mismatch")) {
      error += "; an earlier call had no response, so these tasks may already exist";
      batches.rejectWhole(connection, batch.id(), error);
    } else if (rows > 1) {
      batches.split(connection, batch.id(), rows / 2);
      return;
    } else {
      batches.reject(connection, batch.id(), error);
    }
    log.log(Level.WARNING, "outbox rows rejected rows=" + rows + " error=" + error);
  }

  /** Whether nothing can have been stored: no connection was made, or access was denied. */
  private static boolean isSurelyUnsent(CarillonException e) {
    return switch (e.status()) {
      case CarillonException.NO_ANSWER ->
          e.getCause() instanceof ConnectException
              || e.getCause() instanceof HttpConnectTimeoutException;
      case 401, 403, 404, 429 -> true;
      default -> false;
    };
  }

  private Collection<UUID> skipped() {
    long now = System.nanoTime();
    skipped.values().removeIf(since -> now - since > RETRY_FAILED_AFTER.toNanos());
    return skipped.keySet();
  }

  private static final String REFUSED =
      """
      /* Outbox.refused */
      SELECT id, task, error, created_at
      FROM :table
      WHERE error IS NOT NULL
      ORDER BY created_at
      LIMIT ?
      """;

  /** The oldest rows that Carillon rejected. They stay until they are retried or deleted. */
  public List<Refused> refused(int max) throws SQLException {
    try (Connection connection = database.getConnection();
        PreparedStatement statement = connection.prepareStatement(table.sql(REFUSED))) {
      statement.setInt(1, max);
      try (ResultSet rows = statement.executeQuery()) {
        List<Refused> refused = new ArrayList<>();
        while (rows.next()) {
          refused.add(
              new Refused(
                  rows.getObject("id", UUID.class),
                  rows.getString("task"),
                  rows.getString("error"),
                  rows.getObject("created_at", OffsetDateTime.class).toInstant()));
        }
        return refused;
      }
    }
  }

  private static final String RETRY_REFUSED =
      """
      /* Outbox.retryRefused */
      WITH placed AS (
          SELECT id, row_number() OVER (PARTITION BY batch ORDER BY place) AS place
          FROM :table
          WHERE error IS NOT NULL
      )
      UPDATE :table AS refused
      SET error = NULL, place = CASE WHEN batch IS NOT NULL THEN placed.place END
      FROM placed
      WHERE refused.id = placed.id
      """;

  /**
   * Sends all rejected rows again, after the cause is fixed, and returns their number. Rows that an
   * earlier call may have stored are sent with its key, so that they are not stored twice.
   */
  public int retryRefused() throws SQLException {
    try (Connection connection = database.getConnection();
        PreparedStatement statement = connection.prepareStatement(table.sql(RETRY_REFUSED))) {
      return Transaction.run(connection, statement::executeUpdate);
    }
  }
}
