package carillon.bench.systems;

import carillon.bench.figures.Times;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;

/** A system that does all that a scheduler does. */
public interface Scheduler extends Worker, Intake {

  /**
   * How late the tasks were that were scheduled last.
   *
   * @param starts from due to started
   * @param first when the first had ended, in milliseconds after the earliest was due
   * @param last when the last task started
   */
  record Lateness(Times starts, double first, double last) {}

  /** How long the system may take to accept this many tasks with their due times. */
  Duration lead(int tasks);

  /** Takes in tasks, due at random times in the window or, if that is empty, all at its start. */
  void schedule(int tasks, Instant from, Duration window) throws IOException;

  Lateness lateness() throws IOException, SQLException;
}
