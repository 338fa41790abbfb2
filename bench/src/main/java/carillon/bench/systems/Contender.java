package carillon.bench.systems;

import java.io.IOException;
import java.sql.SQLException;
import java.util.List;

/** A measured system with its own store. */
public interface Contender extends AutoCloseable {

  /** Starts a system on a new store. */
  interface Start<C extends Contender> {
    C start() throws IOException, SQLException;
  }

  Store store();

  /** The process whose CPU and memory are measured, together with its descendants. */
  long pid();

  /** The processes of a system that runs several, each with its descendants. */
  default List<Long> pids() {
    return List.of(pid());
  }

  /** Version and tuned settings, in one line. */
  String settings();

  /** Stops it and removes its store. */
  @Override
  void close() throws IOException, SQLException;
}
