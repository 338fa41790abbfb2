package carillon.store.db;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/**
 * Creates the role that the server connects to its embedded PostgreSQL with: the owner of the
 * database, and no superuser.
 *
 * @param url of the database, as JDBC takes it
 * @param superuser the superuser's name
 * @param superuserPassword the superuser's password
 * @param role the name of the plain role
 * @param password the plain role's password
 */
public record EmbeddedRole(
    String url, String superuser, String superuserPassword, String role, String password) {

  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  /** May be repeated at any time, also after it was interrupted. */
  public void create() {
    try (Connection connection =
            ConnectionSource.of(new Db.Address(url, superuser, superuserPassword), TIMEOUT)
                .getConnection();
        Statement statement = connection.createStatement()) {
      if (!exists(statement)) {
        statement.execute("CREATE ROLE %s LOGIN PASSWORD '%s'".formatted(role, password));
      }
      // The cluster page shows the oldest transaction of any role.
      statement.execute("GRANT pg_read_all_stats TO " + role);
      statement.execute("ALTER DATABASE %s OWNER TO %s".formatted(connection.getCatalog(), role));
    } catch (SQLException e) {
      throw new StoreException(
          "cannot create the role " + role + " of the embedded PostgreSQL: " + e.getMessage(),
          e.getSQLState(),
          e);
    }
  }

  private static final String EXISTS =
      """
      /* EmbeddedRole.exists */
      SELECT FROM pg_roles WHERE rolname = '{role}'
      """;

  private boolean exists(Statement statement) throws SQLException {
    try (ResultSet rows = statement.executeQuery(EXISTS.replace("{role}", role))) {
      return rows.next();
    }
  }

  @Override
  public String toString() {
    return "EmbeddedRole[" + role + " at " + url + "]";
  }
}
