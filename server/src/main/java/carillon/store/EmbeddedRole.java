package carillon.store;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Creates the role that the server connects to its embedded PostgreSQL with: the owner of the
 * database and of everything in it, and no superuser.
 *
 * @param url of the database, as JDBC takes it
 * @param superuser the superuser's name
 * @param superuserPassword the superuser's password
 * @param role the name of the plain role
 * @param password the plain role's password
 */
public record EmbeddedRole(
    String url, String superuser, String superuserPassword, String role, String password) {

  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final String WRONG_PASSWORD = "28P01";

  /** Lives for a moment: a session cannot rename its own role. */
  private static final String RENAMER = "carillon_setup";

  /** May be repeated at any time, also after it was interrupted. */
  public void create() {
    try {
      try (Connection connection = connect(superuser, superuserPassword)) {
        create(connection);
      } catch (SQLException e) {
        if (!WRONG_PASSWORD.equals(e.getSQLState())) {
          throw e;
        }
        renameFormerSuperuser();
        try (Connection connection = connect(superuser, superuserPassword)) {
          create(connection);
        }
      }
    } catch (SQLException e) {
      throw new StoreException(
          "cannot create the role " + role + " of the embedded PostgreSQL: " + e.getMessage(),
          e.getSQLState(),
          e);
    }
  }

  private void create(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("DROP ROLE IF EXISTS " + RENAMER);
      if (list(statement, EXISTS.replace(ROLE, role)).isEmpty()) {
        statement.execute("CREATE ROLE %s LOGIN PASSWORD '%s'".formatted(role, password));
      }
      // The cluster page shows the oldest transaction of anybody.
      statement.execute("GRANT pg_read_all_stats TO " + role);
      statement.execute("ALTER DATABASE %s OWNER TO %s".formatted(connection.getCatalog(), role));
      // One by one: the locks of all tables at once may be more than the lock table holds.
      for (String change : list(statement, CHANGES_OF_OWNER.replace(ROLE, role))) {
        statement.execute(change);
      }
    }
  }

  /** Before there was a plain role, the superuser had its name and its password. */
  private void renameFormerSuperuser() throws SQLException {
    try (Connection former = connect(role, password);
        Statement statement = former.createStatement()) {
      statement.execute("DROP ROLE IF EXISTS " + RENAMER);
      statement.execute(
          "CREATE ROLE %s SUPERUSER LOGIN PASSWORD '%s'".formatted(RENAMER, superuserPassword));
    }
    try (Connection renamer = connect(RENAMER, superuserPassword);
        Statement statement = renamer.createStatement()) {
      renamer.setAutoCommit(false);
      statement.execute("ALTER ROLE %s RENAME TO %s".formatted(role, superuser));
      statement.execute("ALTER ROLE %s PASSWORD '%s'".formatted(superuser, superuserPassword));
      renamer.commit();
    }
  }

  private Connection connect(String user, String secret) throws SQLException {
    return ConnectionSource.of(new Db.Address(url, user, secret), PATIENCE).getConnection();
  }

  private static final String ROLE = "{role}";

  private static final String EXISTS =
      """
      /* EmbeddedRole.exists */
      SELECT rolname FROM pg_roles WHERE rolname = '{role}'
      """;

  private static final String CHANGES_OF_OWNER =
      """
      /* EmbeddedRole.changesOfOwner */
      WITH ours AS (
          SELECT oid
          FROM pg_namespace
          WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
      ),
      of_extension AS (
          SELECT objid FROM pg_depend WHERE deptype = 'e'
      )
      SELECT format('ALTER SCHEMA %s OWNER TO {role}', n.oid::regnamespace)
      FROM pg_namespace n
      WHERE n.oid IN (SELECT oid FROM ours) AND n.nspowner = 10 -- the superuser that initdb creates
      UNION ALL
      SELECT format('ALTER %s %s OWNER TO {role}',
                    CASE c.relkind
                        WHEN 'S' THEN 'SEQUENCE'
                        WHEN 'v' THEN 'VIEW'
                        WHEN 'm' THEN 'MATERIALIZED VIEW'
                        ELSE 'TABLE'
                    END, c.oid::regclass)
      FROM pg_class c
      WHERE c.relnamespace IN (SELECT oid FROM ours)
        AND c.relowner = 10
        AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
        AND c.oid NOT IN (SELECT objid FROM of_extension)
        AND NOT EXISTS (SELECT -- a sequence that belongs to a column goes with its table
                        FROM pg_depend d
                        WHERE d.classid = 'pg_class'::regclass
                          AND d.objid = c.oid
                          AND c.relkind = 'S'
                          AND d.deptype IN ('a', 'i'))
      UNION ALL
      SELECT format('ALTER ROUTINE %s OWNER TO {role}', p.oid::regprocedure)
      FROM pg_proc p
      WHERE p.pronamespace IN (SELECT oid FROM ours)
        AND p.proowner = 10
        AND p.oid NOT IN (SELECT objid FROM of_extension)
      UNION ALL
      SELECT format('ALTER TYPE %s OWNER TO {role}', t.oid::regtype)
      FROM pg_type t
      WHERE t.typnamespace IN (SELECT oid FROM ours)
        AND t.typowner = 10
        AND (t.typtype IN ('e', 'd', 'r')
             OR t.typtype = 'c' AND (SELECT c.relkind FROM pg_class c WHERE c.oid = t.typrelid) = 'c')
        AND t.oid NOT IN (SELECT objid FROM of_extension)
      """;

  private static List<String> list(Statement statement, String query) throws SQLException {
    try (ResultSet rows = statement.executeQuery(query)) {
      List<String> values = new ArrayList<>();
      while (rows.next()) {
        values.add(rows.getString(1));
      }
      return values;
    }
  }

  @Override
  public String toString() {
    return "EmbeddedRole[" + role + " at " + url + "]";
  }
}
