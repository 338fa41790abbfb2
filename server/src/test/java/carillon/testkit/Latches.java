package carillon.testkit;

import java.util.concurrent.CountDownLatch;

/** Waits in tests, for code that may not throw. */
public final class Latches {

  private Latches() {}

  /** Waits; returns early, with the thread still interrupted, on an interrupt. */
  public static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
