package carillon.bench.peers;

import java.time.Instant;
import java.util.List;

/** A scheduler library with its own database. Its jobs do nothing but count. */
interface Library extends AutoCloseable {

  /** Any class of the library, whose JAR has the version. */
  Class<?> libraryClass();

  /** The tuned settings, in one line. */
  String settings();

  /** Inserts due jobs into its tables, in its own row format. */
  void load(int jobs) throws Exception;

  /** Inserts jobs due in the next 30 days into its tables. */
  void loadFuture(int jobs) throws Exception;

  /**
   * Starts its workers.
   *
   * @param onTime whether to poll as often as sensible, rather than for maximum throughput
   */
  void work(boolean onTime) throws Exception;

  /** Stops its workers after they have finished their running jobs. */
  void stop() throws Exception;

  /** Counts the jobs in the database that are due and unfinished. */
  long remaining() throws Exception;

  /** Enqueues one job through the API. */
  void enqueue(Instant due) throws Exception;

  /** Enqueues many jobs in the fastest way that the API offers. */
  void enqueueAll(List<Instant> due) throws Exception;

  @Override
  void close();
}
