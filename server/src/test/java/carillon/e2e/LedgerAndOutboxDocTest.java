package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.client.NewTask;
import carillon.client.TaskContext;
import carillon.client.Worker;
import carillon.client.sql.Ledger;
import carillon.client.sql.Outbox;
import carillon.client.sql.OutboxRelay;
import carillon.testkit.Postgres;
import carillon.testkit.Servers;
import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Runs the examples of the document about the ledger and the outbox. */
class LedgerAndOutboxDocTest {

  @RegisterExtension static final Servers servers = new Servers();

  private final Queue<String> out = new ConcurrentLinkedQueue<>();
  private final Database database = new Database(Postgres.freshDatabase());
  private final DataSource dataSource = database.dataSource();

  @Test
  void every_example_of_the_document_is_run_by_this_test() throws IOException {
    assertThat(DocBlocks.in("ledger-and-outbox.md"))
        .hasSizeGreaterThan(5)
        .containsExactlyInAnyOrderElementsOf(DocBlocks.runBy(LedgerAndOutboxDocTest.class));
  }

  @Test
  void the_examples_of_the_document_work() throws SQLException {
    Carillon carillon = servers.startOn(database.address()).connect();
    database.execute("CREATE TABLE paid (invoice int)");

    // document begins
    Ledger ledger = Ledger.of(dataSource);
    ledger.createTable();
    // document ends
    // document begins
    Worker worker =
        carillon
            .worker("biller")
            .handle(
                "invoice.pay",
                Integer.class,
                (invoice, context) -> {
                  ledger.once(context, connection -> pay(connection, invoice));
                  return null;
                })
            .start();
    // document ends
    // document begins
    Outbox outbox = Outbox.of(dataSource, carillon);
    outbox.createTable();
    OutboxRelay relay = outbox.start();
    // document ends
    // document begins
    try (Connection connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      storeOrder(connection, 42);
      outbox.add(connection, NewTask.of("order.confirm").payload(42).key("42"));
      connection.commit();
    }
    // document ends
    carillon.enqueue(NewTask.of("invoice.pay").payload(7));
    try (Connection connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      outbox.add(connection, NewTask.of("not a type"));
      connection.commit();
    }
    await().until(() -> outbox.refused(1).size() == 1);
    await().until(() -> carillon.get("/v1/tasks?type=order.confirm").path("items").size() == 1);
    await().until(() -> database.count("SELECT count(*) FROM processed_task") == 1);
    // document begins
    for (Outbox.Refused row : outbox.refused(100)) {
      print(row.task() + ": " + row.error());
    }
    // document ends
    Worker marking =
        carillon
            .worker("marking")
            .handle(
                "invoice.mark",
                Integer.class,
                (invoice, context) -> {
                  mark(ledger, context, invoice);
                  return null;
                })
            .start();
    carillon.enqueue(NewTask.of("invoice.mark").payload(8));
    await().until(() -> database.count("SELECT count(*) FROM processed_task") == 2);
    marking.close();
    // document begins
    relay.close();
    worker.close();
    // document ends
    carillon.close();
    assertThat(database.column("SELECT invoice FROM paid ORDER BY invoice"))
        .containsExactly("7", "8", "42");
    assertThat(out).singleElement().asString().contains("not a type", "/tasks/0/type");
  }

  private void mark(Ledger ledger, TaskContext context, int invoice) throws SQLException {
    try (Connection connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      // document begins
      if (ledger.markProcessed(connection, context)) {
        pay(connection, invoice);
      }
      connection.commit();
      // document ends
    }
  }

  private static void storeOrder(Connection connection, int order) throws SQLException {
    pay(connection, order);
  }

  private static void pay(Connection connection, int invoice) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement("INSERT INTO paid VALUES (?)")) {
      statement.setInt(1, invoice);
      statement.executeUpdate();
    }
  }

  private void print(String line) {
    out.add(line);
  }
}
