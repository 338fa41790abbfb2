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
 * Tells the server how attempts ended, many at once: what ends during a request goes with the next
 * one. A request without an answer is repeated until there is one; the server takes each report
 * once, because it takes the token from the task.
 */
final class Reporter {

  private static final String PATH = "/v1/work/report";
  private static final int BATCH_TASKS = 1_000;

  /** The server reads 1 MiB. */
  private static final int BATCH_CHARS = 256 << 10;

  private static final Duration CALL_TIMEOUT = Duration.ofSeconds(15);
  private static final Duration MAX_PAUSE = Duration.ofSeconds(2);

  /** A report on its way. */
  private record Sent(HeldTask held, ObjectNode json, int size, boolean isReplaced) {}

  private final Carillon carillon;
  private final WorkerListener listener;
  private final BiConsumer<HeldTask, TaskSource.Ending> over;
  private final Deque<Sent> waiting = new ArrayDeque<>(); // guarded by this
  private boolean isClosing; // guarded by this
  private long deadline; // guarded by this
  private final Thread thread;

  /**
   * @param over told once about every report, when nothing more will be said about it
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

  /** Sends what waits, until the time is over; returns when nothing is sent any more. */
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
      Thread.currentThread().interrupt(); // nobody does, and the leases would lapse
    }
  }

  /** Empty when there is nothing more to come. */
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
          // Stale on a repetition: the first one may have been taken, and only its answer lost.
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

  /** None of them was taken: one by one, and the guilty ones without what the handler said. */
  private void refused(List<Sent> batch, CarillonException why) throws InterruptedException {
    if (batch.size() > 1) {
      for (Sent sent : batch) {
        send(List.of(sent));
      }
      return;
    }
    Sent sent = batch.get(0);
    if (sent.isReplaced()) {
      over.accept(sent.held(), TaskSource.Ending.RELEASED); // its lease will lapse
      return;
    }
    ObjectNode json =
        Report.dead("the server refused what the handler returned: " + why.getMessage())
            .json(sent.held().task(), null);
    send(List.of(new Sent(sent.held(), json, sent.size(), true)));
  }

  /** False if there is no time left to try again. */
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
