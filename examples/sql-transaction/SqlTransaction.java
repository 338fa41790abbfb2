import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.UUID;

/**
 * Creates an order and its confirmation task in one transaction. For programs whose tables are in
 * the database that Carillon uses.
 */
public class SqlTransaction {

  public static void main(String[] args) throws SQLException {
    try (Connection connection = DriverManager.getConnection(System.getenv("DATABASE_URL"))) {
      createTable(connection);
      System.out.println("Task " + order(connection, 42, 1));
    }
  }

  /** A table of your own, in your own schema. */
  public static void createTable(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(
          "CREATE TABLE IF NOT EXISTS public.orders (number int PRIMARY KEY, quantity int NOT NULL"
              + " CHECK (quantity > 0))");
    }
  }

  /**
   * Inserts an order and schedules its confirmation in five minutes.
   *
   * @return the id of the committed task
   */
  public static UUID order(Connection connection, int number, int quantity) throws SQLException {
    connection.setAutoCommit(false);
    try {
      UUID task = enqueueConfirmation(connection, number);
      insert(connection, number, quantity); // if it fails, the task is rolled back as well
      connection.commit();
      return task;
    } catch (SQLException e) {
      connection.rollback();
      throw e;
    }
  }

  /** Uses named parameters; omitted ones get their defaults. */
  private static UUID enqueueConfirmation(Connection connection, int number) throws SQLException {
    String enqueue =
        """
        SELECT carillon.enqueue('order.confirm',
            payload => jsonb_build_object('order', ?::int),
            key => ?,
            delay => interval '5 minutes')
        """;
    try (PreparedStatement statement = connection.prepareStatement(enqueue)) {
      statement.setInt(1, number);
      statement.setString(2, "order-" + number);
      ResultSet rows = statement.executeQuery();
      rows.next();
      return rows.getObject(1, UUID.class);
    }
  }

  private static void insert(Connection connection, int number, int quantity) throws SQLException {
    String insert = "INSERT INTO public.orders (number, quantity) VALUES (?, ?)";
    try (PreparedStatement statement = connection.prepareStatement(insert)) {
      statement.setInt(1, number);
      statement.setInt(2, quantity);
      statement.executeUpdate();
    }
  }

  /** Deletes an order and cancels its confirmation in one transaction. */
  public static void cancel(Connection connection, int number) throws SQLException {
    connection.setAutoCommit(false);
    try (PreparedStatement delete =
            connection.prepareStatement("DELETE FROM public.orders WHERE number = ?");
        PreparedStatement cancel =
            connection.prepareStatement("SELECT carillon.cancel('order.confirm', ?)")) {
      delete.setInt(1, number);
      delete.executeUpdate();
      cancel.setString(1, "order-" + number);
      cancel.executeQuery();
      connection.commit();
    } catch (SQLException e) {
      connection.rollback();
      throw e;
    }
  }
}
