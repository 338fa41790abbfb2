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

/** Keeps the leases of all tasks that a worker holds, and hears of cancels by that. */
final class Keeper {

  private static final String PATH = "/v1/work/renew";
  private static final int BATCH = 1_000;
  private static final Duration SHORTEST_TICK = Duration.ofMillis(20);
  private static final Duration LONGEST_TICK = Duration.ofMillis(250);
  private static final Duration SHORTEST_CALL = Duration.ofSeconds(2);

  /** What a keeper finds out about a task. */
  interface Finder {

    /** Somebody asked to cancel it. */
    void cancelled(HeldTask held);

    /** It went to somebody else. */
    void lost(HeldTask held);
  }

  private final Carillon carillon;
  private final Duration lease;
  private final Supplier<Collection<HeldTask>> tasks;
  private final Finder finder;
  private final WorkerListener listener;
  private final CountDownLatch closed = new CountDownLatch(1);
  private final Thread thread;

  Keeper(
      Carillon carillon,
      Worker.Settings settings,
      Supplier<Collection<HeldTask>> tasks,
      Finder finder,
      WorkerListener listener) {
    this.carillon = carillon;
    this.lease = settings.lease();
    this.tasks = tasks;
    this.finder = finder;
    this.listener = listener;
    this.thread = Threads.daemons("carillon-" + settings.name() + "-keeper-").newThread(this::run);
    thread.start();
  }

  /**
   * When a lease that ends then by the server's clock is to be renewed by ours. Of two clocks that
   * differ, the harm is a renewal more or one that comes late, which the next attempt heals.
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
    tick = tick.compareTo(SHORTEST_TICK) < 0 ? SHORTEST_TICK : tick;
    tick = tick.compareTo(LONGEST_TICK) > 0 ? LONGEST_TICK : tick;
    try {
      while (!closed.await(tick.toNanos(), TimeUnit.NANOSECONDS)) {
        renewDue(System.nanoTime());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // nobody does
    }
  }

  /** If one must be renewed, those that would follow soon go with it. */
  private void renewDue(long now) {
    if (tasks.get().stream().noneMatch(held -> held.isToRenew(now))) {
      return;
    }
    long soon = now + lease.dividedBy(6).toNanos();
    List<HeldTask> due = tasks.get().stream().filter(held -> held.isToRenew(soon)).toList();
    for (int from = 0; from < due.size(); from += BATCH) {
      renew(due.subList(from, Math.min(due.size(), from + BATCH)));
    }
  }

  private void renew(List<HeldTask> due) {
    Duration patience = lease.dividedBy(3);
    List<ObjectNode> leases = leases(due);
    try {
      JsonNode answer =
          carillon.post(
              PATH,
              Map.of("leases", leases, "lease", lease.toString()),
              patience.compareTo(SHORTEST_CALL) < 0 ? SHORTEST_CALL : patience);
      long next = System.nanoTime() + lease.dividedBy(3).toNanos();
      for (int i = 0; i < due.size(); i++) {
        JsonNode said = leases.get(i).path("progress");
        renewed(
            due.get(i),
            answer.path("leases").path(i),
            said.isString() ? said.asString() : null,
            next);
      }
    } catch (CarillonException e) {
      listener.callFailed(e);
      long again = System.nanoTime() + lease.dividedBy(12).toNanos();
      due.forEach(held -> held.renewAgainAt(again));
    }
  }

  private static List<ObjectNode> leases(List<HeldTask> due) {
    List<ObjectNode> leases = new ArrayList<>();
    for (HeldTask held : due) {
      ObjectNode json = JsonNodeFactory.instance.objectNode();
      json.put("id", held.id().toString()).put("token", held.task().token());
      String progress = held.newProgress();
      if (progress != null) {
        json.put("progress", progress);
      }
      leases.add(json);
    }
    return leases;
  }

  private void renewed(HeldTask held, JsonNode answer, @Nullable String said, long next) {
    String result = answer.path("result").asString("");
    if (result.equals("stale")) {
      finder.lost(held);
      return;
    }
    JsonNode until = answer.path("leaseUntil");
    held.renewed(until.isString() ? Instant.parse(until.asString()) : null, said, next);
    if (result.equals("cancelled")) {
      finder.cancelled(held);
    }
  }
}
