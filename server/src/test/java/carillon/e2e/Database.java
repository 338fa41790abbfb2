package carillon.e2e;

import carillon.store.db.Db;
import carillon.testkit.Postgres;
import carillon.testkit.QueueCheck;
import carillon.testkit.ServerProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.postgresql.ds.PGSimpleDataSource;

/** Queries the tables directly, alongside the program. */
record Database(Db.Address address) {

  /** The embedded database of a server, at its current port. */
  static Database embeddedIn(ServerProcess server) {
    try {
      Path settings = server.dataDir().resolve("postgres/postgresql.conf");
      String port =
          Files.readAllLines(settings).stream()
              .filter(line -> line.startsWith("port = "))
              .findFirst()
              .orElseThrow()
              .substring("port = ".length());
      String password = Files.readString(server.dataDir().resolve("postgres-password")).strip();
      return new Database(
          new Db.Address(
              "jdbc:postgresql://127.0.0.1:" + port + "/postgres", "carillon", password));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** For client code that keeps its own tables in this database. */
  DataSource dataSource() {
    PGSimpleDataSource dataSource = new PGSimpleDataSource();
    dataSource.setUrl(address.url());
    dataSource.setUser(address.user());
    dataSource.setPassword(address.password());
    return dataSource;
  }

  /** The first column of the result. */
  List<String> column(String query) {
    try (Connection connection = Postgres.connect(address);
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(query)) {
      List<String> column = new ArrayList<>();
      while (rows.next()) {
        column.add(rows.getString(1));
      }
      return column;
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  long count(String query) {
    return Long.parseLong(column(query).getFirst());
  }

  /** The number of tasks that have not ended: stored as PENDING, even while they run. */
  long unfinished() {
    return count("SELECT count(*) FROM carillon.task WHERE state = 'PENDING'");
  }

  /** Each task that has not ended is in exactly one of the queue and the claims. */
  void assertConsistent() {
    QueueCheck.assertConsistent(address);
  }

  void execute(String statement) {
    try (Connection connection = Postgres.connect(address);
        Statement s = connection.createStatement()) {
      s.execute(statement);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }
}
