package carillon.bench.systems;

import java.io.IOException;
import java.sql.SQLException;

/** Where a contender keeps its tasks, and what that has cost so far. */
public interface Store extends AutoCloseable {

  /** Holds it until closed. */
  interface Snapshot extends AutoCloseable {
    @Override
    void close() throws SQLException;
  }

  String url();

  /** Its process, together with its descendants. */
  long pid();

  /** Bytes written to the log since the server was made; NaN where that is not known. */
  double walBytes() throws SQLException;

  /** Statements that have ended; NaN where that is not known. */
  double statements() throws SQLException;

  /** After loading: makes everything as it would be some time later. */
  void settle() throws SQLException;

  /** Writes out what is only in memory yet, as it would be some minutes later. */
  void checkpoint() throws SQLException;

  /** Keeps what is dead from being cleared away until closed. */
  Snapshot holdSnapshot() throws SQLException;

  @Override
  void close() throws IOException, SQLException;
}
