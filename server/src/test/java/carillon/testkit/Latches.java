package carillon.testkit;

import java.util.concurrent.CountDownLatch;

/** Waits for latches in code that may not throw checked exceptions. */
public final class Latches {

  private Latches() {}

  /** Waits for the latch; returns early, with the thread still interrupted, on an interrupt. */
  public static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
