package carillon.client;

import java.time.Duration;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Delivers tasks to one worker, from Carillon or from a broker that Carillon publishes to.
 *
 * <p>The worker calls {@link #run} on its own thread, then {@link #stop}, and {@link #close} once
 * every delivered task has ended.
 */
public interface TaskSource extends AutoCloseable {

  /**
   * Delivers tasks to the sink until {@link #stop}. May then return, or continue without delivering
   * until {@link #close}, if it must settle ended tasks on this thread. If it throws, the worker
   * notifies its listener and calls it again after a pause.
   */
  void run(Sink sink) throws Exception;

  /**
   * Stops delivering tasks. Called once, by another thread. Returns when no more tasks will come,
   * or when that thread is interrupted.
   */
  void stop() throws InterruptedException;

  /** Called when all tasks have ended. Settles them, lets {@link #run} return, frees resources. */
  @Override
  void close();

  /** How a task ended, for its source. */
  enum Ending {
    /** The result was reported, or the task has no token and its handler returned. */
    DONE,
    /** The task has no token and its handler threw. */
    FAILED,
    /**
     * The handler did not run or was stopped. If the task has a token, this is reported to the
     * server.
     */
    RELEASED,
    /** The lease expired: Carillon delivers the task again. */
    STALE
  }

  /** The worker as its source sees it. Thread-safe. */
  interface Sink {

    /** The types that have a handler. */
    Set<String> types();

    /** The name of the worker. */
    String worker();

    /** The duration of leases. */
    Duration lease();

    /** The maximum number of delivered tasks that have not ended. */
    int prefetch();

    /** How many tasks may be delivered now. */
    int room();

    /**
     * Waits until tasks may be delivered: enough to be worth a request, unless handlers are idle.
     *
     * @return how many; 0 at the timeout or if the worker is stopping
     */
    int awaitRoom(Duration timeout) throws InterruptedException;

    /**
     * Delivers a task. Never blocks, even without room. A stopping worker releases the task.
     *
     * @param ended called once, on any thread; must not block
     */
    void accept(ClaimedTask task, Consumer<Ending> ended);

    /** The source received a response: the worker counts as connected. */
    void connected();

    /** The source failed and will retry; notifies the listener. */
    void failed(Exception why);
  }
}
