package carillon.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.store.db.Tx;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.awaitility.Awaitility;

/**
 * Runs two steps concurrently: the second begins while the transaction of the first is still open.
 * Neither transaction is retried, so a deadlock fails the test.
 */
public final class Overlapping implements AutoCloseable {

  private final World world;
  private final ExecutorService threads = Executors.newCachedThreadPool();

  public Overlapping(World world) {
    this.world = world;
  }

  /** Rolls back the first step. */
  private static final class RollBack extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  /** Ends the first transaction as soon as the second step is done or waits for a lock. */
  public void run(Consumer<Tx> first, boolean commits, Consumer<Tx> second)
      throws InterruptedException, ExecutionException {
    Callable<Boolean> secondInTransaction =
        () ->
            world.db.tryTransaction(
                tx -> {
                  second.accept(tx);
                  return true;
                });
    assertThat(run(first, commits, secondInTransaction, true)).isTrue();
  }

  /** Commits the first step as soon as the second waits for a lock; fails if it never does. */
  public <T> T runWaiting(Consumer<Tx> first, Callable<T> second)
      throws InterruptedException, ExecutionException {
    return run(first, true, second, false);
  }

  /** Like {@link #runWaiting(Consumer, Callable)}, with an action while the second step waits. */
  public <T> T runWaiting(Consumer<Tx> first, Callable<T> second, Runnable meanwhile)
      throws InterruptedException, ExecutionException {
    return run(first, true, second, false, meanwhile);
  }

  private <T> T run(Consumer<Tx> first, boolean commits, Callable<T> second, boolean mayBeDone)
      throws InterruptedException, ExecutionException {
    return run(first, commits, second, mayBeDone, () -> {});
  }

  private <T> T run(
      Consumer<Tx> first,
      boolean commits,
      Callable<T> second,
      boolean mayBeDone,
      Runnable meanwhile)
      throws InterruptedException, ExecutionException {
    CountDownLatch firstHasRun = new CountDownLatch(1);
    CountDownLatch mayEnd = new CountDownLatch(1);
    Future<?> held = threads.submit(() -> runAndHold(first, commits, firstHasRun, mayEnd));
    firstHasRun.await();
    Future<T> begun = threads.submit(second);
    try {
      Awaitility.await()
          .pollInterval(Duration.ofMillis(2))
          .until(() -> (mayBeDone && begun.isDone()) || isBlocked());
      meanwhile.run();
    } finally {
      mayEnd.countDown(); // even if the second step never waited: the first would hang otherwise
    }
    held.get();
    return begun.get();
  }

  private void runAndHold(
      Consumer<Tx> step, boolean commits, CountDownLatch hasRun, CountDownLatch mayEnd) {
    try {
      world.db.tryTransaction(
          tx -> {
            step.accept(tx);
            hasRun.countDown();
            await(mayEnd);
            if (!commits) {
              throw new RollBack();
            }
            return true;
          });
    } catch (RollBack e) {
      assertThat(commits).isFalse();
    }
  }

  private boolean isBlocked() {
    return !world
        .value(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND"
                + " wait_event_type = 'Lock'")
        .equals("0");
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    threads.close();
  }
}
