package carillon.testkit;

import java.util.concurrent.CountDownLatch;

/** For what a test has wait where nothing may be thrown. */
public final class Latches {

  private Latches() {}

  /** Waits; ends early, and says so, if the thread is interrupted. */
  public static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
