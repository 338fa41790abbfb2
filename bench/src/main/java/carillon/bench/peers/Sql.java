package carillon.bench.peers;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;

/** Runs plain statements on the database of a library. */
final class Sql {

  private Sql() {}

  static void execute(DataSource database, String sql) throws SQLException {
    try (Connection connection = database.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** The first column of the only row. */
  static String one(DataSource database, String sql) throws SQLException {
    try (Connection connection = database.getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      rows.next();
      return rows.getString(1);
    }
  }

  /** The comma-separated columns of a table, except those named. */
  static String columns(DataSource database, String table, String... without) throws SQLException {
    return one(
        database,
        """
        SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum)
        FROM pg_attribute
        WHERE attrelid = '%s'::regclass
          AND attnum > 0
          AND NOT attisdropped
          AND attname <> ALL ('{%s}')
        """
            .formatted(table, String.join(",", without)));
  }
}
