package carillon.bench.systems;

import carillon.bench.figures.Times;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A system that takes tasks in. None that it is given here is due within the hour. */
public interface Intake extends Contender {

  /** Who hand in one by one at the same time; as many for every system. */
  int CALLERS = 64;

  /**
   * What was taken in.
   *
   * @param times of the calls, where they were taken
   */
  record Taken(long tasks, double seconds, @Nullable Times times) {}

  /** Creates one task per call, from many callers at once, for the given time. */
  Taken oneByOne(Duration duration) throws IOException, SQLException, InterruptedException;

  /** Creates this many tasks by the fastest way that the system has. */
  Taken inBulk(int tasks) throws IOException, SQLException, InterruptedException;
}
