package carillon.delivery.rabbitmq;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Holds writers up while the broker says that it takes nothing. */
final class Valve {

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition opened = lock.newCondition();
  private volatile boolean isOpen = true;
  private volatile long openSince = System.nanoTime();

  boolean isOpen() {
    return isOpen;
  }

  /** In nanoseconds of the monotonic clock. */
  long openSince() {
    return openSince;
  }

  void shut() {
    isOpen = false;
  }

  void open() {
    lock.lock();
    try {
      openSince = System.nanoTime();
      isOpen = true;
      opened.signalAll();
    } finally {
      lock.unlock();
    }
  }

  void awaitOpen() throws InterruptedException {
    if (isOpen) {
      return;
    }
    lock.lock();
    try {
      while (!isOpen) {
        opened.await();
      }
    } finally {
      lock.unlock();
    }
  }
}
