package carillon.bench.systems;

import java.io.IOException;
import java.sql.SQLException;

/** The data store of a contender, with its cost counters. */
public interface Store extends AutoCloseable {

  /** A snapshot that is held until closed. */
  interface Snapshot extends AutoCloseable {
    @Override
    void close() throws SQLException;
  }

  String url();

  /** The process whose CPU is measured, together with its descendants. */
  long pid();

  /** Bytes of write-ahead log since the server was created; NaN if unknown. */
  double walBytes() throws SQLException;

  /** Statements executed so far; NaN if unknown. */
  double statements() throws SQLException;

  /** Called after loading: brings statistics and vacuum to the state of some time later. */
  void settle() throws SQLException;

  /** Writes dirty pages to disk, as would happen within some minutes. */
  void checkpoint() throws SQLException;

  /** Holds a snapshot, which prevents vacuum from removing dead rows until it is closed. */
  Snapshot holdSnapshot() throws SQLException;

  @Override
  void close() throws IOException, SQLException;
}
