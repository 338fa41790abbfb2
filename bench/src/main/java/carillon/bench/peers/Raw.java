package carillon.bench.peers;

import carillon.delivery.http.HttpDeliverer;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.AddressRules;
import carillon.model.target.HttpTargetRules;
import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Lease;
import carillon.model.task.RetryPolicy;
import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import org.postgresql.PGConnection;
import tools.jackson.databind.JsonNode;

/**
 * No scheduler: writes rows to Carillon's own tables in the shortest way, and makes requests with
 * Carillon's own HTTP client. A scheduler's rate relative to these shows what the scheduling costs.
 *
 * <p>Its database was set up by a Carillon node and contains one task to copy.
 */
public final class Raw {

  private final HikariDataSource database;
  private final String payload = System.getenv("BENCH_PAYLOAD");

  private Raw(HikariDataSource database) {
    this.database = database;
  }

  public static void main(String... arguments) throws Exception {
    Protocol protocol = new Protocol();
    try (HikariDataSource database = Driver.connect()) {
      protocol.serve(
          "",
          "enqueue: single-task INSERTs, a connection for each caller; bulk: one COPY (binary) into"
              + " each table; both into Carillon's own tables task and queue; http: Carillon's own"
              + " client alone; kafka: Kafka's own producer",
          new Raw(database)::handle);
    }
    System.exit(0);
  }

  private Map<String, ?> handle(JsonNode command) throws Exception {
    int tasks = command.path("tasks").asInt(0);
    return switch (command.path("do").asString()) {
      case "enqueue" ->
          Calls.during(
              Duration.ofMillis((long) (command.path("seconds").asDouble() * 1000)),
              command.path("callers").asInt(),
              insertion());
      case "bulk" -> Map.of("seconds", copy(tasks));
      case "post" -> post(tasks, command.path("callers").asInt(), command.path("url").asString());
      case "produce" -> Producer.produce(command.path("servers").asString(), tasks, payload);
      default -> throw new IllegalArgumentException("unknown command: " + command);
    };
  }

  /** The partition with the existing row, for the new ones too. */
  private String partition(String table) throws SQLException {
    return Sql.one(database, "SELECT tableoid::regclass FROM " + table + " LIMIT 1");
  }

  /**
   * Only id and payload differ between tasks; the statement has all other values as literals. A
   * task is a row in task and one in queue.
   */
  private Callable<Calls.Caller> insertion() throws SQLException {
    String task = partition("carillon.task");
    String queue = partition("carillon.queue");
    String ofTask = Sql.columns(database, task, "id", "payload");
    String ofQueue = Sql.columns(database, queue, "id");
    String insert =
        """
        WITH created AS (INSERT INTO %s (id, payload, %s) VALUES (?, ?, %s) RETURNING id)
        INSERT INTO %s (id, %s) SELECT id, %s FROM created
        """
            .formatted(
                task, ofTask, literals(task, ofTask), queue, ofQueue, literals(queue, ofQueue));
    return () -> new Insertion(database.getConnection(), insert, payload);
  }

  /** The values of the existing row. */
  private String literals(String table, String columns) throws SQLException {
    List<String> literals = new ArrayList<>();
    for (String column : columns.split(", ", -1)) {
      literals.add(
          Sql.one(database, "SELECT quote_nullable(%s) FROM %s LIMIT 1".formatted(column, table)));
    }
    return String.join(", ", literals);
  }

  /** Inserts one task per call. */
  private static final class Insertion implements Calls.Caller {

    private final Connection connection;
    private final PreparedStatement statement;
    private final String payload;

    Insertion(Connection connection, String sql, String payload) throws SQLException {
      this.connection = connection;
      this.statement = connection.prepareStatement(sql);
      this.payload = payload;
    }

    @Override
    public void call() throws SQLException {
      UUID id = TaskId.at(Instant.now(), ThreadLocalRandom.current()).value();
      statement.setObject(1, id);
      statement.setString(2, payload);
      statement.executeUpdate();
    }

    @Override
    public void close() throws SQLException {
      statement.close();
      connection.close();
    }
  }

  /** The rows of both tables are written to files before the clock starts. */
  private double copy(int tasks) throws SQLException, IOException {
    String task = partition("carillon.task");
    String queue = partition("carillon.queue");
    Path taskRows = Files.createTempFile("task", ".copy");
    Path queueRows = Files.createTempFile("queue", ".copy");
    try (Connection connection = database.getConnection()) {
      try (Statement statement = connection.createStatement()) {
        statement.execute(
            """
            DROP TABLE IF EXISTS new_id;
            CREATE TEMP TABLE new_id AS
            SELECT uuidv7(interval '1 hour' + n * interval '10 us') AS id
            FROM generate_series(1, %d) n
            """
                .formatted(tasks));
      }
      copyOut(connection, task, taskRows);
      copyOut(connection, queue, queueRows);
      connection.setAutoCommit(false);
      long began = System.nanoTime();
      copyIn(connection, task, taskRows);
      copyIn(connection, queue, queueRows);
      connection.commit();
      double seconds = (System.nanoTime() - began) / 1e9;
      connection.setAutoCommit(true);
      return seconds;
    } finally {
      Files.delete(taskRows);
      Files.delete(queueRows);
    }
  }

  /** Writes the existing row with each new id. */
  private void copyOut(Connection connection, String table, Path file)
      throws SQLException, IOException {
    try (OutputStream out = Files.newOutputStream(file)) {
      connection
          .unwrap(PGConnection.class)
          .getCopyAPI()
          .copyOut(
              """
              COPY (SELECT new_id.id, %2$s
                    FROM (SELECT * FROM %1$s LIMIT 1) AS one
                    CROSS JOIN new_id)
              TO STDOUT WITH (FORMAT binary)
              """
                  .formatted(table, Sql.columns(database, table, "id")),
              out);
    }
  }

  private void copyIn(Connection connection, String table, Path file)
      throws SQLException, IOException {
    String columns = Sql.columns(database, table, "id");
    try (InputStream in = Files.newInputStream(file)) {
      connection
          .unwrap(PGConnection.class)
          .getCopyAPI()
          .copyIn(
              "COPY %s (id, %s) FROM STDIN WITH (FORMAT binary)".formatted(table, columns),
              in,
              1 << 16);
    }
  }

  private Map<String, ?> post(int tasks, int callers, String url) throws Exception {
    HttpTargetRules rules = new HttpTargetRules(AddressRules.of(List.of("127.0.0.0/8")));
    try (HttpDeliverer deliverer = new HttpDeliverer(rules, InstantSource.system(), "bench")) {
      ClaimedTask task = task(url);
      Calls.Caller caller =
          () -> {
            DeliveryResult result = deliverer.deliver(task).result();
            if (!(result instanceof DeliveryResult.Accepted)) {
              throw new IOException(result.toString());
            }
          };
      return Calls.times(tasks, callers, () -> caller);
    }
  }

  private ClaimedTask task(String url) {
    Instant now = Instant.now();
    return new ClaimedTask(
        TenantId.DEFAULT,
        TaskId.at(now, new Random(42)),
        1,
        "bench",
        5,
        null,
        1,
        new Lease(1, UUID.randomUUID()),
        now,
        now,
        now,
        null,
        payload,
        new Target.Http(url, "POST", Map.of(), null, null),
        true,
        RetryPolicy.DEFAULT,
        Duration.ofSeconds(30),
        List.of(),
        0,
        StatusRules.DEFAULT,
        null,
        null);
  }
}
