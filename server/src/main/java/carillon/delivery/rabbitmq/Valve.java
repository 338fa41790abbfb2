package carillon.delivery.rabbitmq;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Stops the writers while the broker has blocked the connection. */
final class Valve {

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition opened = lock.newCondition();
  private volatile boolean isOpen = true;

  boolean isOpen() {
    return isOpen;
  }

  void shut() {
    isOpen = false;
  }

  void open() {
    lock.lock();
    try {
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
