package carillon.client;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Works on tasks until it is closed: takes them from its source, runs a handler for each, keeps
 * their leases meanwhile and reports how they ended. Made by {@link Carillon#worker}.
 *
 * <p>It keeps the program alive. Whatever happens to the server, it goes on when that is back.
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
    // Not a daemon: a program that only works must not end when its main method does.
    this.sourceThread = new Thread(this::runSource, "carillon-" + settings.name() + "-source");
  }

  static Worker start(
      Carillon carillon, Settings settings, TaskSource source, WorkerListener listener) {
    Worker worker = new Worker(carillon, settings, source, listener);
    worker.sourceThread.start();
    return worker;
  }

  /** Its name. */
  public String name() {
    return settings.name();
  }

  /** How many handlers run at the moment. */
  public int running() {
    return heldTasks.running();
  }

  /** How many tasks it holds: running, waiting for a handler, or not reported yet. */
  public int held() {
    return heldTasks.held().size();
  }

  /** Whether the last call for tasks was answered; false also until the first was. */
  public boolean isConnected() {
    return heldTasks.isConnected();
  }

  /** Whether it has ended. */
  public boolean isStopped() {
    return stopped.getCount() == 0;
  }

  /** Waits until it has ended, which somebody must ask for. */
  public void awaitStopped() throws InterruptedException {
    stopped.await();
  }

  /**
   * Ends it: takes no more tasks, lets handlers finish for the time given to {@link
   * WorkerBuilder#stopTimeout}, then interrupts them, gives back what is left and reports all.
   */
  @Override
  public void close() {
    close(settings.stopTimeout());
  }

  /**
   * Ends it, letting handlers finish for this long. Called by a handler of its own, it only begins
   * to.
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
      Thread.currentThread().interrupt(); // it goes on stopping
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
      Thread.currentThread().interrupt(); // nobody does
    } finally {
      stopped.countDown();
    }
  }

  private void stopSource() {
    try {
      source.stop();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // it took too long
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
        } catch (LinkageError e) { // a library that it needs is missing: somebody must hear of it
          heldTasks.failed(new IllegalStateException(e.toString(), e));
        }
      } while (!stopping.await(backoff.next().toNanos(), TimeUnit.NANOSECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the end
    }
  }
}
