package carillon.client;

import java.time.Duration;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Where a worker gets its tasks from: Carillon itself, or a broker that Carillon publishes to. One
 * source serves one worker.
 *
 * <p>The worker calls {@link #run} on a thread of its own; then, to end, {@link #stop}; and once
 * every task that was handed over has ended, {@link #close}.
 */
public interface TaskSource extends AutoCloseable {

  /**
   * Hands tasks to the sink until {@link #stop}. May then return, or go on without handing over
   * until {@link #close}, if it must settle what ends meanwhile on this thread. If it throws, the
   * worker tells its listener and runs it again after a pause.
   */
  void run(Sink sink) throws Exception;

  /**
   * Hands over no more tasks. Called once, by another thread; returns when none comes any more, or
   * at the latest when that thread is interrupted.
   */
  void stop() throws InterruptedException;

  /** All tasks have ended: settles them, lets {@link #run} return and frees what it holds. */
  @Override
  void close();

  /** How a task ended, as far as its source must know. */
  enum Ending {
    /** It was reported; or there was nothing to report and its handler returned. */
    DONE,
    /** There was nothing to report to and its handler threw. */
    FAILED,
    /** Its handler never ran, or was stopped; if it had a token, the server knows, or soon will. */
    RELEASED,
    /** Its lease had gone to somebody else: Carillon hands it out again. */
    STALE
  }

  /** The worker as its source sees it. Safe to call from any thread. */
  interface Sink {

    /** The types that have a handler. */
    Set<String> types();

    /** The name of the worker. */
    String worker();

    /** For how long leases are asked for. */
    Duration lease();

    /** The most tasks that may be handed over and not have ended. */
    int prefetch();

    /** How many tasks may be handed over now. */
    int room();

    /**
     * Waits until some tasks may be handed over; enough of them to be worth a request, unless
     * handlers are idle.
     *
     * @return how many; 0 if the time ran out or the worker stops
     */
    int awaitRoom(Duration timeout) throws InterruptedException;

    /**
     * Hands over a task; never waits, also without room. Once the worker stops it is released.
     *
     * @param ended told once, on any thread, how it ended; must not block
     */
    void accept(ClaimedTask task, Consumer<Ending> ended);

    /** The source got an answer: the worker counts as connected. */
    void connected();

    /** The source failed and will try again by itself: told to the listener. */
    void failed(Exception why);
  }
}
