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

  /** One task a call, by many callers at once, for so long. */
  Taken oneByOne(Duration duration) throws IOException, SQLException, InterruptedException;

  /** So many tasks in the best way that it has. */
  Taken inBulk(int tasks) throws IOException, SQLException, InterruptedException;
}
