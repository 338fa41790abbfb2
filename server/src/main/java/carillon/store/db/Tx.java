package carillon.store.db;

import carillon.model.task.ClaimedTask;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One open transaction: runs statements, and collects the actions to run after its commit. */
public final class Tx {

  private static final Logger log = LoggerFactory.getLogger(Tx.class);

  private final Connection connection;
  private final boolean isAutoCommit;
  private final Transitions transitions;
  private final List<Runnable> afterCommit = new ArrayList<>();
  private final List<Runnable> onFailure = new ArrayList<>();

  Tx(Connection connection, Transitions transitions) {
    this(connection, false, transitions);
  }

  private Tx(Connection connection, boolean isAutoCommit, Transitions transitions) {
    this.connection = connection;
    this.isAutoCommit = isAutoCommit;
    this.transitions = transitions;
  }

  /** A transaction in autocommit mode: every statement is committed by itself. */
  static Tx autoCommit(Connection connection, Transitions transitions) {
    return new Tx(connection, true, transitions);
  }

  /** Maps a row to a value. */
  public interface Row<T> {
    T of(ResultSet row) throws SQLException;
  }

  /** For wake-ups and counters, which must not happen after a rollback. */
  public void afterCommit(Runnable action) {
    afterCommit.add(action);
  }

  /**
   * For what the transaction has reserved outside the database. Also runs if the commit has no
   * response: then the transaction may be committed.
   */
  public void onFailure(Runnable action) {
    onFailure.add(action);
  }

  /** Notifies listeners of a claim after the commit. */
  public void claimed(List<ClaimedTask> tasks) {
    if (!tasks.isEmpty() && transitions.hasListeners()) {
      afterCommit(() -> transitions.claimed(tasks));
    }
  }

  /** Notifies listeners of new tasks after the commit. */
  public void created(List<? extends Transitions.Created> tasks) {
    if (!tasks.isEmpty() && transitions.hasListeners()) {
      afterCommit(() -> transitions.created(tasks));
    }
  }

  /** Notifies listeners of other changes of state after the commit. */
  public void moved(List<? extends Transitions.Move> moves) {
    if (!moves.isEmpty() && transitions.hasListeners()) {
      afterCommit(() -> transitions.moved(moves));
    }
  }

  /** Notifies listeners of another change of a task after the commit. */
  public void touched(Transitions.Touched task) {
    if (transitions.hasListeners()) {
      afterCommit(() -> transitions.touched(task));
    }
  }

  /** Runs the after-commit actions. Their failure does not undo the commit. */
  void committed() {
    for (Runnable action : afterCommit) {
      try {
        action.run();
      } catch (RuntimeException | Error e) { // an Error would make the commit look failed
        log.warn("after-commit action failed error={}", e.toString());
      }
    }
  }

  /** Runs the actions of a failed transaction. Their failure does not replace its own. */
  void failed() {
    for (Runnable action : onFailure) {
      try {
        action.run();
      } catch (RuntimeException | Error e) {
        log.warn("action of a failed transaction failed error={}", e.toString());
      }
    }
  }

  public <T> List<T> query(String sql, Row<T> row, @Nullable Object... arguments) {
    try (PreparedStatement statement = prepare(sql, arguments);
        ResultSet rows = statement.executeQuery()) {
      List<T> values = new ArrayList<>();
      while (rows.next()) {
        values.add(row.of(rows));
      }
      refuseIfUnreplicated(statement);
      return values;
    } catch (SQLException e) {
      throw failed(sql, e);
    }
  }

  public <T> Optional<T> queryOne(String sql, Row<T> row, @Nullable Object... arguments) {
    List<T> values = query(sql, row, arguments);
    return values.isEmpty() ? Optional.empty() : Optional.of(values.getFirst());
  }

  /**
   * A query of several that are sent together.
   *
   * @param row called for each row of the result
   */
  public record Query(String sql, RowReader row, List<@Nullable Object> arguments) {

    public static Query of(String sql, RowReader row, @Nullable Object... arguments) {
      return new Query(sql, row, Arrays.asList(arguments));
    }
  }

  /** Reads one row. */
  public interface RowReader {
    void read(ResultSet row) throws SQLException;
  }

  /**
   * Runs queries one after the other in a single round trip; each has a snapshot of its own. All
   * arguments are written before a row is read, so those of the queries that follow one with many
   * rows must fit into the buffers of the connection, some 100 kB. A failure is reported under the
   * name of the last query.
   */
  public void queryTogether(Query... queries) {
    queryTogether(List.of(queries));
  }

  /** See {@link #queryTogether(Query...)}. */
  public void queryTogether(List<Query> queries) {
    String sql = Sql.together(queries.stream().map(Query::sql).toList());
    @Nullable Object[] arguments =
        queries.stream().flatMap(query -> query.arguments().stream()).toArray();
    try (PreparedStatement statement = prepare(sql, arguments)) {
      statement.execute();
      for (Query query : queries) {
        try (ResultSet rows = statement.getResultSet()) {
          while (rows.next()) {
            query.row().read(rows);
          }
        }
        statement.getMoreResults();
      }
      refuseIfUnreplicated(statement);
    } catch (SQLException e) {
      throw failed(queries.getLast().sql(), e);
    }
  }

  /** Runs a statement without result rows and returns how many rows it changed. */
  public int update(String sql, @Nullable Object... arguments) {
    try (PreparedStatement statement = prepare(sql, arguments)) {
      int changed = statement.executeUpdate();
      refuseIfUnreplicated(statement);
      return changed;
    } catch (SQLException e) {
      throw failed(sql, e);
    }
  }

  /**
   * Reads, and then releases the locks on tables and indexes that the read took. A scan over all
   * partitions would otherwise hold several locks for each of them until the transaction ends, and
   * the server's lock table has room for some thousands. Writes inside would be rolled back.
   */
  public <T> T readUnlocking(Supplier<T> read) {
    try {
      Savepoint before = connection.setSavepoint();
      T found = read.get(); // if it fails, the whole transaction is rolled back
      connection.rollback(before);
      connection.releaseSavepoint(before);
      return found;
    } catch (SQLException e) {
      throw failed("/* Tx.readUnlocking */", e);
    }
  }

  private void refuseIfUnreplicated(PreparedStatement statement) throws SQLException {
    if (isAutoCommit) {
      Db.refuseUnreplicated(statement.getWarnings());
    }
  }

  /** Writes rows of a COPY. */
  public interface Rows {
    void addTo(CopiedRows rows) throws SQLException;
  }

  /** Runs a {@code COPY ... FROM STDIN (FORMAT binary)} and returns how many rows it added. */
  public long copy(String sql, Rows rows) {
    try {
      CopyIn copy = connection.unwrap(PGConnection.class).getCopyAPI().copyIn(sql);
      try {
        CopiedRows copied = new CopiedRows(copy);
        rows.addTo(copied);
        return copied.end();
      } finally {
        if (copy.isActive()) {
          copy.cancelCopy(); // otherwise the connection cannot be rolled back
        }
      }
    } catch (SQLException e) {
      closeIfLost(e);
      throw failed(sql, e);
    }
  }

  /**
   * Closes a connection that was lost. The driver does this for other statements but not for COPY,
   * and a late response would be taken for the response to the next statement.
   */
  private void closeIfLost(SQLException e) {
    if (e.getSQLState() != null && e.getSQLState().startsWith("08")) {
      try {
        connection.abort(Runnable::run);
      } catch (SQLException again) {
        e.addSuppressed(again);
      }
    }
  }

  private PreparedStatement prepare(String sql, @Nullable Object... arguments) throws SQLException {
    PreparedStatement statement = connection.prepareStatement(sql);
    try {
      for (int i = 0; i < arguments.length; i++) {
        Sql.bind(statement, i + 1, arguments[i]);
      }
      return statement;
    } catch (SQLException e) {
      statement.close();
      throw e;
    }
  }

  private static StoreException failed(String sql, SQLException cause) {
    return new StoreException(
        Sql.name(sql) + " failed: " + cause.getMessage(), cause.getSQLState(), cause);
  }
}
