package carillon.engine;

import carillon.model.Pass;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One named thread that repeats a pass until closed. The only catch-all in the engine. */
public final class Loop implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Loop.class);
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(1);
  private static final Duration WARNED_AGAIN = Duration.ofMinutes(1);
  private static final long BETWEEN_PASSES = Long.MIN_VALUE;

  private final String name;
  private final Supplier<Pass> pass;
  private final Consumer<String> whenFailed;
  private final Duration rest;
  private final Semaphore wakeUps = new Semaphore(0);
  private final Thread thread;
  private volatile boolean closed;
  private volatile long movedAt = BETWEEN_PASSES;
  private int failures; // in a row; these three of this thread only
  private boolean hasSkipped; // since the last failure
  private long warnedAt;

  /**
   * @param pass does one round of work and says how long to wait before the next; zero means go
   *     again at once
   * @param whenFailed told this loop's name after a pass that threw
   */
  public Loop(String name, Supplier<Duration> pass, Consumer<String> whenFailed) {
    this(name, pass, Duration.ZERO, whenFailed);
  }

  Loop(String name, Supplier<Duration> pass, Duration rest, Consumer<String> whenFailed) {
    this(rest, name, () -> Pass.done(pass.get()), whenFailed);
  }

  /** A loop whose pass may have nothing to do, and says so. */
  public static Loop of(String name, Supplier<Pass> pass, Consumer<String> whenFailed) {
    return of(name, pass, Duration.ZERO, whenFailed);
  }

  static Loop of(String name, Supplier<Pass> pass, Duration rest, Consumer<String> whenFailed) {
    return new Loop(rest, name, pass, whenFailed);
  }

  /**
   * @param rest at least so long after each pass, whoever wakes it: what gathers meanwhile is the
   *     next pass's. Part of the wait that the pass asks for.
   */
  private Loop(Duration rest, String name, Supplier<Pass> pass, Consumer<String> whenFailed) {
    this.rest = rest;
    this.name = name;
    this.pass = pass;
    this.whenFailed = whenFailed;
    this.thread = Thread.ofPlatform().name(name).daemon(true).unstarted(this::run);
  }

  public Loop start() {
    thread.start();
    return this;
  }

  /** Ends the current wait. A wake-up during a pass is kept for the wait after it. */
  public void wake() {
    if (wakeUps.availablePermits() == 0) {
      wakeUps.release();
    }
  }

  private void run() {
    while (!closed) {
      try {
        Duration wait = passOnce();
        if (rest.isPositive() && !closed) {
          Thread.sleep(rest);
        }
        await(wait.minus(rest));
      } catch (InterruptedException e) {
        return; // only close() interrupts
      }
    }
  }

  private Duration passOnce() {
    movedAt = System.nanoTime();
    try {
      Pass done = pass.get();
      if (failures > 0 && done.isProof()) {
        log.info("pass works again loop={} failures={}", name, failures);
        failures = 0;
      }
      hasSkipped |= !done.isProof();
      return done.delay();
    } catch (RuntimeException | Error e) { // a thread that ended would leave the node half dead
      if (closed) {
        return Duration.ZERO;
      }
      whenFailed.accept(name);
      failures++;
      if (failures == 1 || isNewTrouble()) { // the metric counts the rest
        warnedAt = System.nanoTime();
        log.warn("pass failed loop={} error={}", name, e.toString());
      }
      hasSkipped = false;
      log.debug("pass failed loop={}", name, e);
      // Spread, so that nodes that lost the same database do not all come back at once.
      return AFTER_FAILURE.plusMillis(ThreadLocalRandom.current().nextInt(500));
    } finally {
      movedAt = BETWEEN_PASSES;
    }
  }

  /** A loop that had nothing to do for long may fail for another reason than before. */
  private boolean isNewTrouble() {
    return hasSkipped && System.nanoTime() - warnedAt > WARNED_AGAIN.toNanos();
  }

  public String name() {
    return name;
  }

  /**
   * To be told by the pass, of each part of its work: one that is long does not stand still. What
   * another thread does says nothing of this one.
   */
  void progress() {
    if (Thread.currentThread().equals(thread)) {
      movedAt = System.nanoTime();
    }
  }

  /** Whether its thread is gone, or its pass has got no further for longer than that. */
  public boolean isStuckFor(Duration patience) {
    long moved = movedAt;
    boolean isLong = moved != BETWEEN_PASSES && System.nanoTime() - moved > patience.toNanos();
    boolean isGone = !closed && thread.getState() == Thread.State.TERMINATED;
    return isLong || isGone;
  }

  private void await(Duration atMost) throws InterruptedException {
    if (atMost.isPositive()) {
      boolean _ = wakeUps.tryAcquire(atMost.toNanos(), TimeUnit.NANOSECONDS);
    }
    wakeUps.drainPermits();
  }

  /** Asks it to end after the pass in progress, without waiting. */
  public void stop() {
    closed = true;
    wake();
  }

  /** Lets the pass in progress end, and waits for it. */
  @Override
  public void close() {
    stop();
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
        thread.interrupt();
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
