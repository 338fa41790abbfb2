package carillon.client;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Renews the leases of the tasks that a worker holds. The responses also report cancels. */
final class LeaseRenewer {

  private static final String PATH = "/v1/work/renew";
  private static final int BATCH_TASKS = 1_000;

  /** Keeps a batch below the server's body limit of 1 MiB: one char is at most three bytes. */
  private static final int BATCH_CHARS = 256 << 10;

  private static final Duration MIN_TICK = Duration.ofMillis(20);
  private static final Duration MAX_TICK = Duration.ofMillis(250);
  private static final Duration MIN_CALL_TIMEOUT = Duration.ofSeconds(2);

  /** A lease to renew, with the progress to report. */
  private record Due(HeldTask held, ObjectNode json, @Nullable String progress) {}

  /** Notified of the cancels and lost leases that renewals report. */
  interface Observer {

    /** A cancel was requested. */
    void cancelled(HeldTask held);

    /** The lease expired and the task was claimed again. */
    void lost(HeldTask held);
  }

  private final Carillon carillon;
  private final Duration lease;
  private final Supplier<Collection<HeldTask>> tasks;
  private final Observer observer;
  private final WorkerListener listener;
  private final CountDownLatch closed = new CountDownLatch(1);
  private final Thread thread;

  LeaseRenewer(
      Carillon carillon,
      Worker.Settings settings,
      Supplier<Collection<HeldTask>> tasks,
      Observer observer,
      WorkerListener listener) {
    this.carillon = carillon;
    this.lease = settings.lease();
    this.tasks = tasks;
    this.observer = observer;
    this.listener = listener;
    this.thread = Threads.daemons("carillon-" + settings.name() + "-renewer-").newThread(this::run);
    thread.start();
  }

  /**
   * When to renew a lease that expires at this time of the server's clock. If the clocks differ, a
   * renewal comes early, or late, and then the next attempt repairs it.
   */
  static long renewAt(Duration lease, @Nullable Instant leaseUntil) {
    Duration third = lease.dividedBy(3);
    Duration left =
        leaseUntil == null ? lease : Duration.between(Instant.now(), leaseUntil).dividedBy(3);
    Duration until = left.isNegative() ? Duration.ZERO : left;
    return System.nanoTime() + (until.compareTo(third) < 0 ? until : third).toNanos();
  }

  void close() {
    closed.countDown();
  }

  private void run() {
    Duration tick = lease.dividedBy(20);
    tick = tick.compareTo(MIN_TICK) < 0 ? MIN_TICK : tick;
    tick = tick.compareTo(MAX_TICK) > 0 ? MAX_TICK : tick;
    try {
      while (!closed.await(tick.toNanos(), TimeUnit.NANOSECONDS)) {
        renewDue(System.nanoTime());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // not expected
    }
  }

  /** Once one lease is due, also renews those that are due soon. */
  private void renewDue(long now) {
    if (tasks.get().stream().noneMatch(held -> held.isToRenew(now))) {
      return;
    }
    long soon = now + lease.dividedBy(6).toNanos();
    List<Due> batch = new ArrayList<>();
    int chars = 0;
    for (HeldTask held : tasks.get().stream().filter(held -> held.isToRenew(soon)).toList()) {
      Due due = due(held);
      int size = due.json().toString().length();
      if (batch.size() == BATCH_TASKS || (chars + size > BATCH_CHARS && !batch.isEmpty())) {
        renew(batch);
        batch.clear();
        chars = 0;
      }
      batch.add(due);
      chars += size;
    }
    if (!batch.isEmpty()) {
      renew(batch);
    }
  }

  private static Due due(HeldTask held) {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    json.put("id", held.id().toString()).put("token", held.task().token());
    String progress = held.newProgress();
    if (progress != null) {
      json.put("progress", progress);
    }
    return new Due(held, json, progress);
  }

  private void renew(List<Due> batch) {
    try {
      JsonNode answer = call(batch);
      long next = System.nanoTime() + lease.dividedBy(3).toNanos();
      for (int i = 0; i < batch.size(); i++) {
        Due due = batch.get(i);
        renewed(due.held(), answer.path("leases").path(i), due.progress(), next);
      }
    } catch (CarillonException e) {
      listener.callFailed(e);
      long again = System.nanoTime() + lease.dividedBy(12).toNanos();
      batch.forEach(due -> due.held().renewAgainAt(again));
    }
  }

  /** If the server rejects a progress text, renews without it, so that no lease is lost. */
  private JsonNode call(List<Due> batch) {
    try {
      return post(batch);
    } catch (CarillonException e) {
      if (!e.isAboutContent() || batch.stream().allMatch(due -> due.progress() == null)) {
        throw e;
      }
      listener.callFailed(e);
      batch.forEach(due -> due.json().remove("progress"));
      return post(batch);
    }
  }

  private JsonNode post(List<Due> batch) {
    Duration timeout = lease.dividedBy(3);
    return carillon.post(
        PATH,
        Map.of("leases", batch.stream().map(Due::json).toList(), "lease", lease.toString()),
        timeout.compareTo(MIN_CALL_TIMEOUT) < 0 ? MIN_CALL_TIMEOUT : timeout);
  }

  private void renewed(HeldTask held, JsonNode answer, @Nullable String progress, long next) {
    String result = answer.path("result").asString("");
    if (result.equals("stale")) {
      observer.lost(held);
      return;
    }
    JsonNode until = answer.path("leaseUntil");
    held.renewed(until.isString() ? Instant.parse(until.asString()) : null, progress, next);
    if (result.equals("cancelled")) {
      observer.cancelled(held);
    }
  }
}
