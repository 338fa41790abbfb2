package carillon.client;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Reports results of attempts in batches: results that arrive during a request share the next one.
 * A request without a response is repeated. The server accepts each report once, because accepting
 * it clears the token of the task.
 */
final class Reporter {

  private static final String PATH = "/v1/work/report";
  private static final int BATCH_TASKS = 1_000;

  /** The server reads 1 MiB. */
  private static final int BATCH_CHARS = 256 << 10;

  private static final Duration CALL_TIMEOUT = Duration.ofSeconds(15);
  private static final Duration MAX_PAUSE = Duration.ofSeconds(2);

  private record Sent(HeldTask held, ObjectNode json, int size, boolean isReplaced) {}

  private final Carillon carillon;
  private final WorkerListener listener;
  private final BiConsumer<HeldTask, TaskSource.Ending> over;
  private final Deque<Sent> waiting = new ArrayDeque<>(); // guarded by this
  private boolean isClosing; // guarded by this
  private long deadline; // guarded by this
  private final Thread thread;

  /**
   * @param over called once per report, when it is final
   */
  Reporter(
      Carillon carillon,
      String worker,
      WorkerListener listener,
      BiConsumer<HeldTask, TaskSource.Ending> over) {
    this.carillon = carillon;
    this.listener = listener;
    this.over = over;
    this.thread = Threads.daemons("carillon-" + worker + "-reporter-").newThread(this::run);
    thread.start();
  }

  synchronized void add(HeldTask held, Report report) {
    ObjectNode json = report.json(held.task(), held.progress());
    waiting.add(new Sent(held, json, json.toString().length(), false));
    notifyAll();
  }

  /** Sends pending reports until the timeout. Returns when no request is running. */
  void close(Duration timeout) {
    synchronized (this) {
      isClosing = true;
      deadline = System.nanoTime() + timeout.toNanos();
      notifyAll();
    }
    boolean isInterrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        isInterrupted = true;
        synchronized (this) {
          deadline = System.nanoTime();
          notifyAll();
        }
      }
    }
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    try {
      for (List<Sent> batch = next(); !batch.isEmpty(); batch = next()) {
        send(batch);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // not expected; leases would expire
    }
  }

  /** The next batch; empty after close. */
  private synchronized List<Sent> next() throws InterruptedException {
    while (waiting.isEmpty() && !isClosing) {
      wait();
    }
    List<Sent> batch = new ArrayList<>();
    int chars = 0;
    while (!waiting.isEmpty() && batch.size() < BATCH_TASKS) {
      chars += waiting.element().size();
      if (chars > BATCH_CHARS && !batch.isEmpty()) {
        break;
      }
      batch.add(waiting.remove());
    }
    return batch;
  }

  private void send(List<Sent> batch) throws InterruptedException {
    Backoff backoff = new Backoff(MAX_PAUSE);
    boolean isRepeated = false;
    while (true) {
      try {
        JsonNode answer =
            carillon.post(
                PATH, Map.of("results", batch.stream().map(Sent::json).toList()), CALL_TIMEOUT);
        for (int i = 0; i < batch.size(); i++) {
          boolean isAccepted =
              answer.path("results").path(i).path("result").asString("").equals("accepted");
          // Stale on a repeat: the first request may have been accepted and its response lost.
          answered(batch.get(i).held(), isAccepted || isRepeated);
        }
        return;
      } catch (CarillonException e) {
        listener.callFailed(e);
        if (e.isAboutContent()) {
          refused(batch, e);
          return;
        }
        isRepeated = true;
        if (!pause(backoff.next(e))) {
          batch.forEach(sent -> over.accept(sent.held(), TaskSource.Ending.RELEASED));
          return;
        }
      }
    }
  }

  private void answered(HeldTask held, boolean isDone) {
    if (isDone) {
      listener.reported(held.task());
      over.accept(held, TaskSource.Ending.DONE);
    } else {
      listener.stale(held.task());
      over.accept(held, TaskSource.Ending.STALE);
    }
  }

  /** The batch was rejected: sends reports one by one, and rejected ones without their output. */
  private void refused(List<Sent> batch, CarillonException why) throws InterruptedException {
    if (batch.size() > 1) {
      for (Sent sent : batch) {
        send(List.of(sent));
      }
      return;
    }
    Sent sent = batch.get(0);
    if (sent.isReplaced()) {
      over.accept(sent.held(), TaskSource.Ending.RELEASED); // its lease will expire
      return;
    }
    ObjectNode json =
        Report.dead("the server rejected the output of the handler: " + why.getMessage())
            .json(sent.held().task(), null);
    send(List.of(new Sent(sent.held(), json, sent.size(), true)));
  }

  /** Returns false if there is no time left to retry. */
  private synchronized boolean pause(Duration pause) throws InterruptedException {
    long end = System.nanoTime() + pause.toNanos();
    for (long left = pause.toNanos(); left > 0; left = end - System.nanoTime()) {
      if (isClosing && deadline - System.nanoTime() <= 0) {
        return false;
      }
      long until = isClosing ? Math.min(left, deadline - System.nanoTime()) : left;
      TimeUnit.NANOSECONDS.timedWait(this, Math.max(1_000_000, until));
    }
    return true;
  }
}
