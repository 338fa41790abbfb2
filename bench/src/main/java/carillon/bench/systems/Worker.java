package carillon.bench.systems;

import java.io.IOException;
import java.sql.SQLException;

/** A system that runs due tasks. */
public interface Worker extends Contender {

  /** Creates due tasks that do nothing, and holds them back until released. */
  void load(int tasks) throws IOException, SQLException;

  /** Creates tasks that are due in the next weeks, which only make the store larger. */
  void loadFuture(int tasks) throws IOException, SQLException, InterruptedException;

  /** Lets the tasks that were loaded last run. */
  void release() throws IOException;

  /** The number of tasks finished since the start, as reported by the system. */
  long finished() throws IOException;

  /**
   * Seconds from the first start to the last end of the tasks that were loaded last.
   *
   * @param tasks how many must have completed
   * @throws IllegalStateException if a different number has completed
   */
  double seconds(long tasks) throws SQLException;
}
