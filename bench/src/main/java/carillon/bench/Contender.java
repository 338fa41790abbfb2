package carillon.bench;

import java.io.IOException;
import java.sql.SQLException;

/** A scheduler under measurement, running on a database of its own. */
interface Contender extends AutoCloseable {

  /** Where it keeps its tasks. */
  Database database();

  /** The process whose CPU and memory are the program's. */
  long pid();

  /** Takes in tasks that are due and do nothing, and holds them back until released. */
  void load(int tasks) throws IOException, SQLException;

  /** Takes in tasks that are due in the next weeks, and are only there. */
  void loadFuture(int tasks) throws IOException, SQLException;

  /** Lets the tasks that were loaded last run. */
  void release() throws IOException;

  /** How many it has finished since it was started, by its own word. */
  long finished() throws IOException;

  /**
   * From the first start to the last end of the tasks that were loaded last, in seconds, by the
   * database.
   *
   * @throws IllegalStateException if they have not all ended well
   */
  double seconds(int tasks) throws SQLException;

  @Override
  void close() throws IOException;
}
