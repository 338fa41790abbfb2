package carillon.bench.systems;

import carillon.bench.figures.Times;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A system that accepts tasks. Tasks created here are not due within the hour. */
public interface Intake extends Contender {

  /** Concurrent callers of {@link #oneByOne}, the same number for every system. */
  int CALLERS = 64;

  /**
   * The accepted tasks.
   *
   * @param times of the calls; null if not measured
   */
  record Accepted(long tasks, double seconds, @Nullable Times times) {}

  /** Creates one task per call, from many callers at once, for the given time. */
  Accepted oneByOne(Duration duration) throws IOException, SQLException, InterruptedException;

  /** Creates this many tasks by the fastest way that the system has. */
  Accepted inBulk(int tasks) throws IOException, SQLException, InterruptedException;
}
