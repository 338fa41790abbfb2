package carillon.bench.systems;

import carillon.bench.figures.Times;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;

/** A complete scheduler: accepts tasks and runs them at their due time. */
public interface Scheduler extends Worker, Intake {

  /**
   * Start delays of the tasks that were scheduled last.
   *
   * @param starts from due to started
   * @param first end of the first task, in milliseconds after the earliest due time
   * @param last end of the last task, in milliseconds after the earliest due time
   */
  record Lateness(Times starts, double first, double last) {}

  /** How long the system may take to accept this many tasks with their due times. */
  Duration lead(int tasks);

  /** Creates tasks due at random times in the window or, if that is zero, all at its start. */
  void schedule(int tasks, Instant from, Duration window) throws IOException;

  Lateness lateness() throws IOException, SQLException;
}
