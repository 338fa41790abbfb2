package carillon.client.sql;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.regex.Pattern;
import javax.sql.DataSource;

/** The name of a table, with or without a schema. */
record Table(String name) {

  private static final Pattern PLAIN =
      Pattern.compile("([A-Za-z_][A-Za-z0-9_]{0,49}\\.)?[A-Za-z_][A-Za-z0-9_]{0,49}");

  /** Errors of two processes that create the same table concurrently. */
  private static final Set<String> CREATED_CONCURRENTLY = Set.of("23505", "42P07", "42710");

  /** Rejects everything that is not a plain name, because it becomes part of statements. */
  Table {
    if (!PLAIN.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "\"" + name + "\" is not a table name such as processed_task or app.processed_task");
    }
  }

  /** The name without its schema, for the names of indexes. */
  private String shortName() {
    return name.substring(name.indexOf('.') + 1);
  }

  /** Puts the name into a statement. */
  String sql(String statement) {
    return statement.replace(":table", name).replace(":index", shortName());
  }

  /** Runs statements that create what is missing. */
  void create(DataSource database, String statements) throws SQLException {
    try (Connection connection = database.getConnection()) {
      try {
        execute(connection, sql(statements));
      } catch (SQLException e) {
        if (!CREATED_CONCURRENTLY.contains(e.getSQLState())) {
          throw e;
        }
        execute(connection, sql(statements));
      }
    }
  }

  private static void execute(Connection connection, String statements) throws SQLException {
    Transaction.run(
        connection,
        () -> {
          try (Statement statement = connection.createStatement()) {
            return statement.execute(statements);
          }
        });
  }
}
