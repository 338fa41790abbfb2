package carillon.bench.systems;

import java.io.IOException;
import java.sql.SQLException;
import java.util.List;

/** A system under measurement, running on a store of its own. */
public interface Contender extends AutoCloseable {

  /** Starts a system on a store of its own. */
  interface Start<C extends Contender> {
    C start() throws IOException, SQLException;
  }

  Store store();

  /**
   * The process whose CPU and memory are the program's; those that it has started count as well.
   */
  long pid();

  /** The same of a system that runs as several, each with those that it has started. */
  default List<Long> pids() {
    return List.of(pid());
  }

  /** Version and what was tuned, in one line. */
  String settings();

  /** Stops it and removes its store. */
  @Override
  void close() throws IOException, SQLException;
}
