package carillon.bench.peers;

import java.time.Instant;
import java.util.List;

/** A scheduler as a library, on a database of its own. Its jobs do nothing but count. */
interface Library extends AutoCloseable {

  /** Any class of the library itself, which tells its version. */
  Class<?> libraryClass();

  /** What was tuned, in one line. */
  String settings();

  /** Puts due jobs into its tables, as rows of its own form. */
  void load(int jobs) throws Exception;

  /** The same with jobs due in the next 30 days. */
  void loadFuture(int jobs) throws Exception;

  /**
   * Starts its workers.
   *
   * @param onTime whether they look for work as often as makes sense, rather than do the most
   */
  void work(boolean onTime) throws Exception;

  /** Stops them and lets them end what they have begun. */
  void rest() throws Exception;

  /** Jobs that are due and not finished, by the database. */
  long left() throws Exception;

  /** Hands in one job as a program would. */
  void enqueue(Instant due) throws Exception;

  /** Hands in many jobs in the best way that it has. */
  void enqueueAll(List<Instant> due) throws Exception;

  @Override
  void close();
}
