package carillon.client;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Handles tasks until it is closed: receives them from its source, runs a handler for each, renews
 * their leases and reports the results. Created by {@link Carillon#worker}.
 *
 * <p>Keeps the program alive, and reconnects whenever the server is unreachable.
 */
public final class Worker implements AutoCloseable {

  private static final Duration INTERRUPT_TIMEOUT = Duration.ofSeconds(1);
  private static final Duration REPORT_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration MAX_PAUSE = Duration.ofSeconds(5);

  record Settings(
      String name,
      Map<String, PlainHandler> handlers,
      int concurrency,
      int prefetch,
      Duration lease,
      Duration stopTimeout,
      boolean interruptOnCancel) {}

  private final Settings settings;
  private final TaskSource source;
  private final HeldTasks heldTasks;
  private final LeaseRenewer renewer;
  private final Thread sourceThread;
  private final AtomicBoolean isClosed = new AtomicBoolean();
  private final CountDownLatch stopping = new CountDownLatch(1);
  private final CountDownLatch stopped = new CountDownLatch(1);

  private Worker(Carillon carillon, Settings settings, TaskSource source, WorkerListener listener) {
    this.settings = settings;
    this.source = source;
    String prefix = "carillon-" + settings.name() + "-";
    this.heldTasks =
        new HeldTasks(
            carillon,
            settings,
            listener,
            Threads.forHandlers(prefix, settings.concurrency()),
            Threads.unbounded(prefix + "cancel-"));
    this.renewer = new LeaseRenewer(carillon, settings, heldTasks::held, heldTasks, listener);
    // Not a daemon: the program must not exit when its main method returns.
    this.sourceThread = new Thread(this::runSource, "carillon-" + settings.name() + "-source");
  }

  static Worker start(
      Carillon carillon, Settings settings, TaskSource source, WorkerListener listener) {
    Worker worker = new Worker(carillon, settings, source, listener);
    worker.sourceThread.start();
    return worker;
  }

  /** The name. */
  public String name() {
    return settings.name();
  }

  /** The number of running handlers. */
  public int running() {
    return heldTasks.running();
  }

  /** The number of tasks held: running, waiting for a handler, or not reported yet. */
  public int held() {
    return heldTasks.held().size();
  }

  /** Whether the last request for tasks succeeded; false before the first one. */
  public boolean isConnected() {
    return heldTasks.isConnected();
  }

  /** Whether it has stopped. */
  public boolean isStopped() {
    return stopped.getCount() == 0;
  }

  /** Waits until the worker has been closed and has stopped. */
  public void awaitStopped() throws InterruptedException {
    stopped.await();
  }

  /**
   * Stops the worker: accepts no more tasks, lets handlers finish within {@link
   * WorkerBuilder#stopTimeout}, then interrupts them, releases unfinished tasks and sends all
   * reports.
   */
  @Override
  public void close() {
    close(settings.stopTimeout());
  }

  /**
   * Stops the worker, letting handlers finish within this timeout. Called by one of its own
   * handlers, it returns before the worker has stopped.
   */
  public void close(Duration timeout) {
    if (isClosed.compareAndSet(false, true)) {
      Thread stopper = new Thread(() -> stop(timeout), "carillon-" + settings.name() + "-stopper");
      stopper.start();
    }
    if (heldTasks.isOwnHandler()) {
      return;
    }
    try {
      stopped.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // stopping continues
    }
  }

  private void stop(Duration timeout) {
    try {
      stopping.countDown();
      heldTasks.stop();
      Thread last =
          Threads.daemons("carillon-" + settings.name() + "-last-").newThread(this::stopSource);
      last.start();
      long start = System.nanoTime();
      if (!heldTasks.awaitHandlers(timeout)) {
        heldTasks.interruptHandlers();
        heldTasks.awaitHandlers(INTERRUPT_TIMEOUT);
      }
      long left = timeout.toMillis() - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
      last.join(Math.max(1_000, left));
      last.interrupt();
      heldTasks.close(REPORT_TIMEOUT);
      renewer.close();
      source.close();
      sourceThread.join(REPORT_TIMEOUT.toMillis());
      sourceThread.interrupt();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // not expected
    } finally {
      stopped.countDown();
    }
  }

  private void stopSource() {
    try {
      source.stop();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // timed out
    }
  }

  private void runSource() {
    Backoff backoff = new Backoff(MAX_PAUSE);
    try {
      do {
        try {
          source.run(heldTasks);
          backoff.reset();
        } catch (InterruptedException e) {
          throw e;
        } catch (Exception e) {
          heldTasks.failed(e);
        } catch (LinkageError e) { // a library is missing: report it
          heldTasks.failed(new IllegalStateException(e.toString(), e));
        }
      } while (!stopping.await(backoff.next().toNanos(), TimeUnit.NANOSECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // stopped
    }
  }
}
