package carillon.client;

import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** Records the events of a worker. */
final class RecordingListener implements WorkerListener {

  final Queue<Result> results = new ConcurrentLinkedQueue<>();
  final Queue<ClaimedTask> stale = new ConcurrentLinkedQueue<>();
  final Queue<Exception> failedCalls = new ConcurrentLinkedQueue<>();
  final Queue<Throwable> thrown = new ConcurrentLinkedQueue<>();
  final AtomicInteger claimed = new AtomicInteger();
  final AtomicInteger reported = new AtomicInteger();
  final AtomicInteger cancelled = new AtomicInteger();

  @Override
  public void claimed(ClaimedTask task) {
    claimed.incrementAndGet();
  }

  @Override
  public void ended(ClaimedTask task, Result result, Duration took) {
    results.add(result);
  }

  @Override
  public void handlerThrew(ClaimedTask task, Throwable cause) {
    thrown.add(cause);
  }

  @Override
  public void reported(ClaimedTask task) {
    reported.incrementAndGet();
  }

  @Override
  public void stale(ClaimedTask task) {
    stale.add(task);
  }

  @Override
  public void cancelled(ClaimedTask task) {
    cancelled.incrementAndGet();
  }

  @Override
  public void callFailed(Exception cause) {
    failedCalls.add(cause);
  }
}
