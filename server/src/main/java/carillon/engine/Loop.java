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
  private final Consumer<String> onFailure;
  private final Duration rest;
  private final Semaphore wakeUps = new Semaphore(0);
  private final Thread thread;
  private volatile boolean closed;
  private volatile long movedAt = BETWEEN_PASSES;
  // The next three are used by the loop's thread only.
  private int failures; // in a row
  private boolean hasSkipped; // since the last failure
  private long warnedAt;

  /**
   * @param pass does one round of work and returns how long to wait before the next
   * @param onFailure receives the loop's name after a pass that threw
   */
  public Loop(String name, Supplier<Duration> pass, Consumer<String> onFailure) {
    this(name, pass, Duration.ZERO, onFailure);
  }

  Loop(String name, Supplier<Duration> pass, Duration rest, Consumer<String> onFailure) {
    this(rest, name, () -> Pass.done(pass.get()), onFailure);
  }

  /** A loop whose pass reports whether it did anything. */
  public static Loop of(String name, Supplier<Pass> pass, Consumer<String> onFailure) {
    return of(name, pass, Duration.ZERO, onFailure);
  }

  static Loop of(String name, Supplier<Pass> pass, Duration rest, Consumer<String> onFailure) {
    return new Loop(rest, name, pass, onFailure);
  }

  /**
   * @param rest the minimum wait after each pass, which no wake-up shortens: work gathers meanwhile
   *     for the next pass. Included in the wait that the pass returns.
   */
  private Loop(Duration rest, String name, Supplier<Pass> pass, Consumer<String> onFailure) {
    this.rest = rest;
    this.name = name;
    this.pass = pass;
    this.onFailure = onFailure;
    this.thread = Thread.ofPlatform().name(name).daemon(true).unstarted(this::run);
  }

  public Loop start() {
    thread.start();
    return this;
  }

  /** Ends the current wait. A wake-up during a pass ends the wait after it. */
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
        log.info("pass recovered loop={} failures={}", name, failures);
        failures = 0;
      }
      hasSkipped |= !done.isProof();
      return done.delay();
    } catch (RuntimeException | Error e) { // a stopped thread would leave the node half dead
      if (closed) {
        return Duration.ZERO;
      }
      onFailure.accept(name);
      failures++;
      if (failures == 1 || isNewTrouble()) { // the metric counts the rest
        warnedAt = System.nanoTime();
        log.warn("pass failed loop={} error={}", name, e.toString());
      }
      hasSkipped = false;
      log.debug("pass failed loop={}", name, e);
      // Jitter, so that nodes that lost the same database do not all reconnect at once.
      return AFTER_FAILURE.plusMillis(ThreadLocalRandom.current().nextInt(500));
    } finally {
      movedAt = BETWEEN_PASSES;
    }
  }

  /** After a long time without work, a loop may fail for another reason than before. */
  private boolean isNewTrouble() {
    return hasSkipped && System.nanoTime() - warnedAt > WARNED_AGAIN.toNanos();
  }

  public String name() {
    return name;
  }

  /**
   * Called by a pass for each part of its work, so that a long pass is not taken for stuck. Ignored
   * on other threads.
   */
  void progress() {
    if (Thread.currentThread().equals(thread)) {
      movedAt = System.nanoTime();
    }
  }

  /** Whether the thread has died, or its pass has made no progress for longer than this. */
  public boolean isStuckFor(Duration time) {
    long moved = movedAt;
    boolean isLong = moved != BETWEEN_PASSES && System.nanoTime() - moved > time.toNanos();
    boolean isGone = !closed && thread.getState() == Thread.State.TERMINATED;
    return isLong || isGone;
  }

  private void await(Duration atMost) throws InterruptedException {
    if (atMost.isPositive()) {
      boolean _ = wakeUps.tryAcquire(atMost.toNanos(), TimeUnit.NANOSECONDS);
    }
    wakeUps.drainPermits();
  }

  /** Makes the loop end after the pass in progress, without waiting for it. */
  public void stop() {
    closed = true;
    wake();
  }

  /** Stops the loop and waits for the pass in progress to end. */
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
