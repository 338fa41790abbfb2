package carillon.bench.systems;

import java.io.IOException;
import java.sql.SQLException;

/** A system that works off what is due. */
public interface Worker extends Contender {

  /** Takes in tasks that are due and do nothing, and holds them back until released. */
  void load(int tasks) throws IOException, SQLException;

  /** Takes in tasks that are due in the next weeks, and are only there. */
  void loadFuture(int tasks) throws IOException, SQLException, InterruptedException;

  /** Lets the tasks that were loaded last run. */
  void release() throws IOException;

  /** How many it has finished since it was started, by its own word. */
  long finished() throws IOException;

  /**
   * Seconds from the first start to the last end of this many tasks, which were loaded last and
   * have ended, in seconds.
   *
   * @throws IllegalStateException if fewer have completed
   */
  double seconds(long tasks) throws SQLException;
}
