package carillon.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.testkit.Postgres;
import carillon.testkit.Servers;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class WorkerTest {

  @RegisterExtension static final Servers servers = new Servers();

  private static Carillon carillon;

  private final RecordingListener seen = new RecordingListener();

  record Invoice(int number, String to) {}

  @BeforeAll
  static void start() {
    carillon = servers.startOn(Postgres.freshDatabase()).connect();
  }

  @AfterAll
  static void close() {
    carillon.close();
  }

  private WorkerBuilder worker() {
    return carillon.worker("tester").lease(Duration.ofSeconds(2)).listener(seen);
  }

  private static UUID enqueue(NewTask task) {
    return carillon.enqueue(task).id();
  }

  private static TaskView awaitOver(UUID id) {
    return await().until(() -> carillon.task(id).orElseThrow(), task -> task.status().isTerminal());
  }

  private static TaskView awaitStatus(UUID id, TaskStatus status) {
    return await().until(() -> carillon.task(id).orElseThrow(), task -> task.status() == status);
  }

  @Test
  void a_handler_receives_the_payload_and_sets_the_output() {
    UUID id = enqueue(NewTask.of("invoice").payload(new Invoice(7, "Ada")).key("k7"));
    AtomicReference<Invoice> received = new AtomicReference<>();

    try (Worker worker =
        worker()
            .handle(
                "invoice",
                Invoice.class,
                (invoice, context) -> {
                  received.set(invoice);
                  return Map.of("sent", context.key(), "fence", context.fence());
                })
            .start()) {
      TaskView task = awaitOver(id);

      assertThat(task.status()).isEqualTo(TaskStatus.COMPLETED);
      assertThat(task.output()).contains("\"sent\":\"k7\"", "\"fence\":1");
      assertThat(received.get()).isEqualTo(new Invoice(7, "Ada"));
      assertThat(worker.isConnected()).isTrue();
    }
  }

  @Test
  void a_thousand_tasks_are_handled_once_each_and_at_most_64_concurrently() {
    Map<UUID, Integer> handled = new ConcurrentHashMap<>();
    AtomicInteger running = new AtomicInteger();
    AtomicInteger maxRunning = new AtomicInteger();
    List<UUID> ids =
        carillon.enqueueAll(
            IntStream.range(0, 1_000).mapToObj(i -> NewTask.of("many").payload(i)).toList());

    try (Worker worker =
        worker()
            .concurrency(64)
            .handle(
                "many",
                Integer.class,
                (number, context) -> {
                  maxRunning.accumulateAndGet(running.incrementAndGet(), Math::max);
                  handled.merge(context.id(), 1, Integer::sum);
                  running.decrementAndGet();
                  return number;
                })
            .start()) {
      await().until(() -> seen.reported.get() == 1_000);

      assertThat(handled).hasSize(1_000).containsOnlyKeys(ids);
      assertThat(handled.values()).containsOnly(1);
      assertThat(maxRunning.get()).isBetween(1, 64);
      await().until(() -> worker.held() == 0);
    }
    assertThat(Lists.all(carillon, "/v1/tasks?type=many&status=COMPLETED&limit=1000"))
        .hasSize(1_000);
  }

  @Test
  void a_handler_can_run_longer_than_its_lease() {
    UUID id = enqueue(NewTask.of("slow"));

    try (Worker worker =
        worker()
            .lease(Duration.ofSeconds(1))
            .handle(
                "slow",
                context -> {
                  Instant end = Objects.requireNonNull(context.leaseUntil()).plusMillis(500);
                  await().until(() -> end.isBefore(context.leaseUntil()));
                  await().until(() -> Instant.now().isAfter(end));
                  return null;
                })
            .start()) {
      TaskView task = awaitOver(id);

      assertThat(task.status()).isEqualTo(TaskStatus.COMPLETED);
      assertThat(task.fence()).isEqualTo(1);
      assertThat(worker.isStopped()).isFalse();
    }
  }

  @Test
  void an_error_fails_its_task_only() {
    UUID bad = enqueue(NewTask.of("error").payload("bad").retry(Map.of("maxAttempts", 1)));
    UUID good = enqueue(NewTask.of("error").payload("good"));

    try (Worker worker =
        worker()
            .concurrency(1)
            .handle(
                "error",
                String.class,
                (payload, context) -> {
                  if (payload.equals("bad")) {
                    throw new StackOverflowError("too deep\u0000");
                  }
                  return null;
                })
            .start()) {
      assertThat(awaitOver(bad).error()).isEqualTo("StackOverflowError: too deep\uFFFD");
      assertThat(awaitOver(good).status()).isEqualTo(TaskStatus.COMPLETED);
      assertThat(worker.running()).isZero();
    }
    assertThat(seen.thrown).hasOnlyElementsOfType(StackOverflowError.class);
  }

  @Test
  void a_handler_decides_when_to_retry_and_when_to_dead_letter() {
    UUID later = enqueue(NewTask.of("wish").payload("later"));
    UUID never = enqueue(NewTask.of("wish").payload("never"));

    try (Worker worker =
        worker()
            .handle(
                "wish",
                String.class,
                (payload, context) -> {
                  throw payload.equals("later")
                      ? new RetryLater("not before tomorrow", Duration.ofHours(5))
                      : new DeadTask("no such customer");
                })
            .start()) {
      TaskView dead = awaitOver(never);
      TaskView waiting =
          await().until(() -> carillon.task(later).orElseThrow(), task -> task.error() != null);

      assertThat(dead.status()).isEqualTo(TaskStatus.DEAD);
      assertThat(dead.error()).isEqualTo("no such customer");
      assertThat(waiting.status()).isEqualTo(TaskStatus.PENDING);
      assertThat(waiting.error()).isEqualTo("not before tomorrow");
      assertThat(Instant.parse(waiting.json().path("nextAttemptAt").asString()))
          .isAfter(Instant.now().plus(Duration.ofHours(4)));
      assertThat(worker.name()).isEqualTo("tester");
    }
  }

  @Test
  void a_task_with_an_unreadable_payload_is_dead_with_the_reason() {
    UUID id = enqueue(NewTask.of("unreadable").payload(Map.of("number", "not a number")));

    try (Worker worker =
        worker().handle("unreadable", Invoice.class, (invoice, context) -> invoice).start()) {
      TaskView task = awaitOver(id);

      assertThat(task.status()).isEqualTo(TaskStatus.DEAD);
      assertThat(task.attempt()).isEqualTo(1);
      assertThat(task.error())
          .startsWith("the payload cannot be read as carillon.client.WorkerTest$Invoice: ");
      assertThat(worker.isStopped()).isFalse();
    }
  }

  @Test
  void a_rejected_output_does_not_affect_other_reports() {
    UUID large = enqueue(NewTask.of("output").payload(70_000));
    UUID odd = enqueue(NewTask.of("output").payload(-1));
    UUID small = enqueue(NewTask.of("output").payload(10));

    try (Worker worker =
        worker()
            .handle(
                "output",
                Integer.class,
                (size, context) -> size < 0 ? new Object() {} : "x".repeat(size))
            .start()) {
      assertThat(awaitOver(large).status()).isEqualTo(TaskStatus.DEAD);
      assertThat(carillon.task(large).orElseThrow().error()).contains("rejected", "65536");
      assertThat(awaitOver(small).output()).isEqualTo("x".repeat(10));
      assertThat(awaitOver(odd).status().isTerminal()).isTrue();
      await().until(() -> worker.held() == 0);
    }
  }

  @Test
  void a_renewal_notifies_the_handler_of_a_cancel() throws InterruptedException {
    UUID id = enqueue(NewTask.of("cancelled"));
    CountDownLatch started = new CountDownLatch(1);
    CountDownLatch cancelled = new CountDownLatch(1);

    try (Worker worker =
        worker()
            .handle(
                "cancelled",
                context -> {
                  context.onCancel(cancelled::countDown);
                  started.countDown();
                  cancelled.await();
                  assertThat(context.isCancelled()).isTrue();
                  throw context.release();
                })
            .start()) {
      started.await();

      assertThat(carillon.cancel(id)).isEqualTo(CancelResult.REQUESTED);

      assertThat(awaitOver(id).status()).isEqualTo(TaskStatus.CANCELLED);
      assertThat(seen.cancelled).hasValue(1);
      assertThat(worker.isStopped()).isFalse();
    }
  }

  @Test
  void interrupt_on_cancel_interrupts_the_handler() throws InterruptedException {
    UUID id = enqueue(NewTask.of("interrupted").retry(Map.of("maxAttempts", 1)));
    CountDownLatch started = new CountDownLatch(1);

    try (Worker worker =
        worker()
            .interruptOnCancel()
            .handle(
                "interrupted",
                context -> {
                  started.countDown();
                  new CountDownLatch(1).await();
                  return null;
                })
            .start()) {
      started.await();
      carillon.cancel(id);

      assertThat(awaitOver(id).status()).isEqualTo(TaskStatus.CANCELLED);
      assertThat(worker.running()).isZero();
    }
  }

  @Test
  void progress_is_shown_while_the_handler_runs() {
    UUID id = enqueue(NewTask.of("progress"));
    CountDownLatch shown = new CountDownLatch(1);

    try (Worker worker =
        worker()
            .handle(
                "progress",
                context -> {
                  context.progress("one\nof two");
                  shown.await();
                  context.progress("two of two");
                  return null;
                })
            .start()) {
      await().until(() -> "one of two".equals(carillon.task(id).orElseThrow().progress()));
      assertThat(carillon.task(id).orElseThrow().status()).isEqualTo(TaskStatus.RUNNING);

      shown.countDown();

      assertThat(awaitOver(id).progress()).isEqualTo("two of two");
      assertThat(worker.isStopped()).isFalse();
    }
  }

  @Test
  void a_task_of_a_type_without_a_handler_is_never_claimed() {
    UUID other = enqueue(NewTask.of("unhandled"));
    UUID mine = enqueue(NewTask.of("mine"));

    try (Worker worker = worker().handle("mine", context -> null).start()) {
      awaitOver(mine);
      UUID next = enqueue(NewTask.of("mine"));
      awaitOver(next);

      assertThat(carillon.task(other).orElseThrow().fence()).isZero();
      assertThat(seen.claimed).hasValue(2);
      assertThat(worker.isStopped()).isFalse();
    }
  }

  @Test
  void a_handler_may_close_its_worker() throws InterruptedException {
    UUID id = enqueue(NewTask.of("last"));
    AtomicReference<Worker> self = new AtomicReference<>();
    CountDownLatch known = new CountDownLatch(1);

    Worker worker =
        worker()
            .handle(
                "last",
                context -> {
                  known.await();
                  self.get().close();
                  return "closed";
                })
            .start();
    self.set(worker);
    known.countDown();
    worker.awaitStopped();

    assertThat(carillon.task(id).orElseThrow().output()).isEqualTo("closed");
  }

  @Test
  void an_idle_worker_stops_immediately_and_claims_nothing_afterwards() {
    Worker worker = worker().handle("idle", context -> null).start();
    UUID first = enqueue(NewTask.of("idle"));
    awaitOver(first);

    long start = System.nanoTime();
    worker.close();

    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
    UUID late = enqueue(NewTask.of("idle"));
    Worker next = worker().handle("idle", context -> null).start();
    assertThat(awaitOver(late).fence()).as("claimed once").isEqualTo(1);
    next.close();
  }

  @Test
  void unfinished_tasks_are_released_when_the_worker_stops() throws InterruptedException {
    CountDownLatch started = new CountDownLatch(1);
    UUID running = enqueue(NewTask.of("stopping"));
    Worker worker =
        worker()
            .concurrency(1)
            .stopTimeout(Duration.ofMillis(300))
            .handle(
                "stopping",
                context -> {
                  started.countDown();
                  new CountDownLatch(1).await();
                  return null;
                })
            .start();
    started.await();
    UUID waiting = enqueue(NewTask.of("stopping"));
    await().until(() -> worker.held() == 2);

    Thread.currentThread().interrupt(); // the worker stops nevertheless
    worker.close();
    assertThat(Thread.interrupted()).isTrue();
    worker.awaitStopped();

    assertThat(awaitStatus(running, TaskStatus.PENDING).attempt()).isZero();
    assertThat(awaitStatus(waiting, TaskStatus.PENDING).attempt()).isZero();
    assertThat(seen.results).containsOnly(WorkerListener.Result.RELEASED).hasSize(2);
    carillon.cancel(running);
    carillon.cancel(waiting);
  }

  @Test
  void a_worker_needs_a_valid_name_and_one_handler_per_type() {
    assertThatThrownBy(() -> worker().start()).hasMessageContaining("has no handler");
    assertThatThrownBy(() -> worker().handle("t", c -> null).handle("t", c -> null))
        .hasMessageContaining("already");
    assertThatThrownBy(() -> carillon.worker("two\nlines")).hasMessageContaining("name");
  }
}
