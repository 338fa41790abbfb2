package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.client.CarillonException;
import carillon.client.NewTask;
import carillon.client.sql.Outbox;
import carillon.client.sql.OutboxRelay;
import carillon.store.db.Db;
import carillon.testkit.FaultyProxy;
import carillon.testkit.Postgres;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The outbox of the client: every committed row becomes exactly one task. */
class OutboxTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(20);

  @RegisterExtension static final Servers servers = new Servers();

  private static Db.Address address;
  private static ServerProcess server;
  private static Database tasks;

  private final Database database = new Database(Postgres.emptyDatabase());
  private Carillon carillon;
  private Outbox outbox;
  private final String type = "outbox." + System.identityHashCode(this);

  @BeforeAll
  static void start() {
    address = Postgres.freshDatabase();
    server = servers.startOn(address);
    tasks = new Database(address);
  }

  @AfterAll
  static void stop() {
    server.stop();
  }

  @BeforeEach
  void create() throws SQLException {
    carillon = server.connect();
    outbox = Outbox.of(database.dataSource(), carillon);
    outbox.createTable();
    outbox.createTable();
  }

  @Test
  void only_a_committed_row_becomes_a_task() throws SQLException {
    try (Connection connection = transaction()) {
      outbox.add(connection, NewTask.of(type).key("lost"));
      connection.rollback();
      outbox.add(connection, NewTask.of(type).key("kept").delay(Duration.ofHours(2)));
      assertThat(outbox.relayOnce()).as("before the commit").isFalse();
      connection.commit();
    }

    assertThat(outbox.relayOnce()).isTrue();
    assertThat(outbox.relayOnce()).isFalse();

    assertThat(tasks.column("SELECT key" + ofType())).containsExactly("kept");
    assertThat(
            tasks.count(
                "SELECT count(*)"
                    + ofType()
                    + " AND due_at BETWEEN now() + interval '110 min' AND now() + interval '121"
                    + " min'"))
        .isEqualTo(1);
    assertThat(rows()).isZero();
  }

  @Test
  void autocommit_and_unsupported_task_options_are_rejected() throws SQLException {
    try (Connection connection = database.dataSource().getConnection()) {
      assertThatThrownBy(() -> outbox.add(connection, NewTask.of(type)))
          .isInstanceOf(IllegalStateException.class);
    }
    try (Connection connection = transaction()) {
      assertThatThrownBy(() -> outbox.add(connection, NewTask.of(type).idempotencyKey("mine")))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(
              () -> outbox.add(connection, NewTask.of(type).uniqueFor(Duration.ofHours(1))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("cannot be unique");
    }
  }

  @Test
  void a_relay_killed_between_sending_and_deleting_creates_no_duplicates() throws SQLException {
    add(0, 700);
    var dying = new DyingConnections(database.dataSource(), "OutboxBatches.delete");
    Outbox killed = Outbox.of(dying.dataSource(), carillon);

    assertThatThrownBy(killed::relayOnce).hasMessageContaining("killed");
    assertThat(sent()).as("sent").isEqualTo(500);
    assertThat(rows()).as("rows left").isEqualTo(700);
    assertThatThrownBy(killed::relayOnce).hasMessageContaining("killed");

    while (outbox.relayOnce()) {
      assertThat(rows()).isLessThan(700);
    }
    assertThat(dying.deaths()).isEqualTo(2);
    assertThat(sent()).isEqualTo(700);
    assertThat(sentKeys()).isEqualTo(700);
    assertThat(rows()).isZero();
  }

  @Test
  void concurrent_relays_send_every_row_once() {
    try (OutboxRelay first = outbox.start();
        OutboxRelay second = Outbox.of(database.dataSource(), carillon).start();
        OutboxRelay third = Outbox.of(database.dataSource(), carillon).start()) {
      List<CompletableFuture<Void>> users = new ArrayList<>();
      for (int user = 0; user < 4; user++) {
        int from = user * 500;
        users.add(
            CompletableFuture.runAsync(
                () -> {
                  for (int i = 0; i < 50; i++) {
                    add(from + i * 10, 10);
                  }
                }));
      }
      users.forEach(CompletableFuture::join);
      await().atMost(TIMEOUT).until(() -> rows() == 0);
      assertThat(List.of(first, second, third)).doesNotContainNull();
    }
    assertThat(sent()).isEqualTo(2000);
    assertThat(sentKeys()).isEqualTo(2000);
  }

  @Test
  void a_refused_row_keeps_its_error_and_does_not_block_others() throws SQLException {
    add(0, 10);
    try (Connection connection = transaction()) {
      outbox.add(connection, NewTask.of("no such/type").key("bad"));
      connection.commit();
    }
    add(10, 10);

    while (outbox.relayOnce()) {
      assertThat(rows()).isPositive();
    }

    assertThat(sent()).isEqualTo(20);
    assertThat(sentKeys()).isEqualTo(20);
    List<Outbox.Refused> refused = outbox.refused(10);
    assertThat(refused).hasSize(1);
    assertThat(refused.getFirst().task()).contains("no such/type");
    assertThat(refused.getFirst().error()).contains("/tasks/0/type");

    database.execute(
        "UPDATE carillon_outbox SET task = replace(task, 'no such/type', '" + type + "')");
    assertThat(outbox.retryRefused()).isEqualTo(1);
    assertThat(outbox.relayOnce()).isTrue();
    assertThat(sentKeys()).isEqualTo(21);
    assertThat(rows()).isZero();
  }

  @Test
  void rows_wait_while_the_server_is_down() throws SQLException {
    add(0, 30);
    int port = server.url().getPort();
    server.kill9();
    assertThatThrownBy(outbox::relayOnce).isInstanceOf(CarillonException.class);
    assertThatThrownBy(outbox::relayOnce).isInstanceOf(CarillonException.class);
    assertThat(rows()).isEqualTo(30);

    try (OutboxRelay relay = outbox.start()) {
      server =
          servers.start(
              server.dataDir(),
              "--database-url",
              Servers.url(address),
              "--port",
              Integer.toString(port));
      await().atMost(TIMEOUT).until(() -> rows() == 0);
      assertThat(relay).isNotNull();
    }
    assertThat(sent()).isEqualTo(30);
  }

  @Test
  void a_batch_without_a_response_is_never_split_or_sent_under_another_key()
      throws SQLException, IOException {
    add(0, 10);
    try (FaultyProxy proxy = FaultyProxy.before(server.url());
        Carillon withoutResponses = Carillon.connect(proxy.url(), server.adminKey())) {
      proxy.breakPath("/v1/tasks/batch", FaultyProxy.Fault.RESPONSE_LOST);
      assertThatThrownBy(Outbox.of(database.dataSource(), withoutResponses)::relayOnce)
          .isInstanceOf(CarillonException.class);
    }
    withStubServer(422, strict -> assertThat(strict.relayOnce()).isTrue());

    assertThat(outbox.relayOnce()).as("a split batch was sent").isFalse();
    assertThat(outbox.refused(20)).hasSize(10);
    assertThat(outbox.refused(1).getFirst().error()).contains("an earlier call had no response");
    assertThat(outbox.retryRefused()).isEqualTo(10);
    assertThat(outbox.relayOnce()).isTrue();
    assertThat(sent()).isEqualTo(10);
    assertThat(rows()).isZero();
  }

  @Test
  void a_relay_without_permission_keeps_the_rows() throws SQLException, IOException {
    add(0, 4);
    withStubServer(
        403, closed -> assertThatThrownBy(closed::relayOnce).isInstanceOf(CarillonException.class));
    assertThat(outbox.refused(10)).isEmpty();
    // A 403 proves that the batch was not stored, so a 422 may still split it in half.
    withStubServer(422, strict -> assertThat(strict.relayOnce()).isTrue());
    assertThat(database.count("SELECT count(DISTINCT batch) FROM carillon_outbox")).isEqualTo(2);

    assertThat(outbox.relayOnce()).as("the first half").isTrue();
    assertThat(outbox.relayOnce()).as("the second half").isTrue();
    assertThat(sent()).isEqualTo(4);
  }

  /** An action on an outbox. */
  private interface OutboxAction {
    void run(Outbox outbox) throws SQLException;
  }

  /** Runs the action with an outbox whose server returns this status for every request. */
  private void withStubServer(int status, OutboxAction action) throws SQLException, IOException {
    HttpServer stub =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    stub.createContext(
        "/",
        exchange -> {
          exchange.getRequestBody().readAllBytes();
          exchange.sendResponseHeaders(status, -1);
          exchange.close();
        });
    stub.start();
    String url = "http://127.0.0.1:" + stub.getAddress().getPort();
    try (Carillon client = Carillon.connect(url, "k")) {
      action.run(Outbox.of(database.dataSource(), client));
    } finally {
      stub.stop(0);
    }
  }

  private Connection transaction() throws SQLException {
    Connection connection = database.dataSource().getConnection();
    connection.setAutoCommit(false);
    return connection;
  }

  private void add(int from, int count) {
    try (Connection connection = transaction()) {
      for (int i = from; i < from + count; i++) {
        outbox.add(connection, NewTask.of(type).key("k" + i).payload(List.of(i)));
      }
      connection.commit();
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private long rows() {
    return database.count("SELECT count(*) FROM carillon_outbox");
  }

  private long sent() {
    return tasks.count("SELECT count(*)" + ofType());
  }

  private long sentKeys() {
    return tasks.count("SELECT count(DISTINCT key)" + ofType());
  }

  private String ofType() {
    return " FROM carillon.task JOIN carillon.lane ON lane.id = task.lane WHERE lane.type = '"
        + type
        + "'";
  }
}
