package carillon.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.store.db.Db;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/**
 * Checks that each pending task of a database is in exactly one of the queue and the claims, and
 * that its row in the queue agrees with its own. This holds after every transaction, so a test may
 * check it at any time.
 */
public final class QueueCheck {

  // The view reads all tasks: the settings of the product's connections would make that slow. More
  // than a few lines say nothing new.
  private static final String MISPLACED =
      """
      SELECT concat('tenant ', m.tenant, ' task ', m.id, ' ', m.state, ': ', m.queue_rows, ' rows of queue, ', m.claims,
                    ' claims') AS line
      FROM carillon.misplaced_task m
      LIMIT 20
      """;

  private QueueCheck() {}

  public static void assertConsistent(Db.Address address) {
    assertThat(misplaced(address)).as("misplaced tasks").isEmpty();
  }

  private static List<String> misplaced(Db.Address address) {
    try (Connection connection = Postgres.connect(address);
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(MISPLACED)) {
      List<String> lines = new ArrayList<>();
      while (rows.next()) {
        lines.add(rows.getString("line"));
      }
      return lines;
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }
}
