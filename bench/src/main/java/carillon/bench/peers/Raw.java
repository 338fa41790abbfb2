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
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import org.postgresql.PGConnection;
import tools.jackson.databind.JsonNode;

/**
 * No scheduler: writes rows to Carillon's own table in the shortest way, and makes requests with
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
          "enqueue: single-row INSERTs, a connection for each caller; bulk: one COPY (binary); both"
              + " into Carillon's own table; http: Carillon's own client alone; kafka: Kafka's own"
              + " producer",
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

  /** The partition of the existing task, for the new ones too. */
  private String table() throws SQLException {
    return Sql.one(database, "SELECT tableoid::regclass FROM carillon.task LIMIT 1");
  }

  /** Only id and payload differ between rows; the statement has all other values as literals. */
  private Callable<Calls.Caller> insertion() throws SQLException {
    String table = table();
    String[] columns = Sql.columns(database, table, "id", "payload").split(", ", -1);
    StringBuilder values = new StringBuilder();
    for (String column : columns) {
      values
          .append(", ")
          .append(
              Sql.one(
                  database, "SELECT quote_nullable(%s) FROM %s LIMIT 1".formatted(column, table)));
    }
    String insert =
        "INSERT INTO %s (id, payload, %s) VALUES (?, ?%s)"
            .formatted(table, String.join(", ", columns), values);
    return () -> new Insertion(database.getConnection(), insert, payload);
  }

  /** Inserts one row per call. */
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

  /** The rows are written to a file before the clock starts. */
  private double copy(int tasks) throws SQLException, IOException {
    String table = table();
    String same = Sql.columns(database, table, "id");
    Path file = Files.createTempFile("rows", ".copy");
    try (Connection connection = database.getConnection()) {
      var copies = connection.unwrap(PGConnection.class).getCopyAPI();
      try (OutputStream out = Files.newOutputStream(file)) {
        copies.copyOut(
            """
            COPY (SELECT uuidv7(interval '1 hour' + n * interval '10 us') AS id, %2$s
                  FROM (SELECT * FROM %1$s LIMIT 1) AS one
                  CROSS JOIN generate_series(1, %3$d) n)
            TO STDOUT WITH (FORMAT binary)
            """
                .formatted(table, same, tasks),
            out);
      }
      try (InputStream in = Files.newInputStream(file)) {
        long began = System.nanoTime();
        copies.copyIn(
            "COPY %s (id, %s) FROM STDIN WITH (FORMAT binary)".formatted(table, same), in, 1 << 16);
        return (System.nanoTime() - began) / 1e9;
      }
    } finally {
      Files.delete(file);
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
