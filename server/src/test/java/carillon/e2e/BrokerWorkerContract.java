package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.client.ClaimedTask;
import carillon.client.NewTask;
import carillon.client.TaskSource;
import carillon.client.Worker;
import carillon.testkit.Postgres;
import carillon.testkit.Servers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/**
 * How a worker handles messages, for every kind of broker. The test takes the place of the server's
 * publisher: it claims tasks and publishes them with their tokens.
 */
abstract class BrokerWorkerContract {

  static final Duration TIMEOUT = Duration.ofSeconds(30);

  @RegisterExtension static final Servers nodes = new Servers();

  static Carillon carillon;
  private static Database database;

  final Queue<String> skipped = new ConcurrentLinkedQueue<>();
  final String queue = "queue" + System.identityHashCode(this);

  @BeforeAll
  static void startServer() {
    database = new Database(Postgres.freshDatabase());
    carillon = nodes.startOn(database.address()).connect();
  }

  @AfterAll
  static void closeClient() {
    carillon.close();
  }

  /** Creates an empty queue or topic. */
  abstract void createQueue(String name);

  abstract void publish(String name, Map<String, String> headers, byte[] body);

  /** A source that adds the reason of every skipped message to {@link #skipped}. */
  abstract TaskSource source(String name);

  /** The number of messages that are not settled. */
  abstract long remaining(String name);

  @Test
  void a_worker_handles_and_reports_tasks_and_settles_their_messages() {
    createQueue(queue);
    publishTasks(200);
    Set<String> seen = ConcurrentHashMap.newKeySet();

    try (Worker worker =
        worker("one", source(queue), 16, task -> seen.add(task.key() + "=" + task.payload()))) {
      await().atMost(TIMEOUT).until(() -> completed() == 200);
      assertThat(worker.isConnected()).isTrue();
    }

    assertThat(seen).hasSize(200).contains("k7=[7]");
    assertThat(remaining(queue)).isZero();
    assertThat(skipped).isEmpty();
  }

  @Test
  void unsettled_messages_of_a_dead_worker_go_to_another() throws Exception {
    createQueue(queue);
    publishTasks(50);
    Hoarder dying = new Hoarder(queue);
    TaskSource source = source(queue);
    var run = CompletableFuture.runAsync(() -> dying.run(source));
    await().atMost(TIMEOUT).until(() -> dying.taken.size() >= 10);
    source.stop();
    source.close(); // looks like a death to the broker: no message was settled
    run.join();
    assertThat(completed()).isZero();

    Worker worker = worker("next", source(queue), 16, task -> {});
    try (worker) {
      await().atMost(TIMEOUT).until(() -> completed() == 50);
    }
    assertThat(remaining(queue)).isZero();
  }

  @Test
  void a_worker_holds_at_most_its_prefetch_and_runs_at_most_its_concurrency() throws Exception {
    createQueue(queue);
    publishTasks(60);
    CountDownLatch gate = new CountDownLatch(1);
    AtomicInteger maxRunning = new AtomicInteger();
    AtomicInteger running = new AtomicInteger();

    try (Worker worker =
        worker(
            "slow",
            source(queue),
            8,
            task -> {
              maxRunning.accumulateAndGet(running.incrementAndGet(), Math::max);
              await().atMost(TIMEOUT).until(() -> gate.getCount() == 0);
              running.decrementAndGet();
            })) {
      await()
          .atMost(TIMEOUT)
          .during(Duration.ofMillis(500))
          .until(() -> worker.held() == 8 && running.get() == 4);
      gate.countDown();
      await().atMost(TIMEOUT).until(() -> completed() == 60);
    }
    assertThat(maxRunning).hasValueLessThanOrEqualTo(4);
    assertThat(remaining(queue)).isZero();
  }

  @Test
  void a_worker_that_joins_and_leaves_causes_no_repeats() throws Exception {
    createQueue(queue);
    publishTasks(300);
    AtomicInteger byFirst = new AtomicInteger();
    AtomicInteger bySecond = new AtomicInteger();
    Worker first = worker("first", source(queue), 8, task -> slowly(byFirst));
    try (first) {
      await().atMost(TIMEOUT).until(() -> byFirst.get() >= 20);
      try (Worker second = worker("second", source(queue), 8, task -> slowly(bySecond))) {
        await().atMost(TIMEOUT).until(() -> bySecond.get() >= 20 || completed() == 300);
        assertThat(second.held()).isLessThanOrEqualTo(8);
      }
      // The second worker released the tasks that it had not begun; the server republishes them.
      await()
          .atMost(TIMEOUT)
          .until(() -> publishDue(queue, queue, NO_WAIT) >= 0 && completed() == 300);
    }
    assertThat(bySecond).hasPositiveValue();
    assertThat(remaining(queue)).isZero();
    System.out.printf(
        "%s: %d and %d handled of 300%n",
        getClass().getSimpleName(), byFirst.get(), bySecond.get());
    assertThat(byFirst.get() + bySecond.get()).as("tasks handled, without repeats").isEqualTo(300);
  }

  private static void slowly(AtomicInteger count) {
    database.execute("SELECT pg_sleep(0.01)");
    count.incrementAndGet();
  }

  @Test
  void a_message_without_a_token_is_handled_without_a_report() {
    createQueue(queue);
    publish(queue, headers(UUID.randomUUID(), Map.of()), bytes("{\"a\":1}"));
    publish(queue, headers(UUID.randomUUID(), Map.of("Carillon-Key", "throws")), bytes("{}"));
    publish(queue, headers(UUID.randomUUID(), Map.of()), bytes(""));
    Queue<String> seen = new ConcurrentLinkedQueue<>();

    try (Worker worker =
        worker(
            "unreporting",
            source(queue),
            8,
            task -> {
              seen.add(task.payload().toString());
              if (task.key() != null) {
                throw new IllegalStateException("no");
              }
            })) {
      await().atMost(TIMEOUT).until(() -> seen.size() == 3 && worker.held() == 0);
    }
    assertThat(seen).containsExactlyInAnyOrder("{\"a\":1}", "{}", "null");
    assertThat(remaining(queue)).isZero();
  }

  @Test
  void an_unusable_message_is_skipped_with_a_reason() {
    createQueue(queue);
    publish(queue, Map.of(), bytes("hello"));
    publish(queue, headers(UUID.randomUUID(), Map.of()), bytes("{"));
    publish(queue, headers(UUID.randomUUID(), Map.of("Carillon-Fence", "x")), bytes("{}"));
    publish(queue, headers(UUID.randomUUID(), Map.of("Carillon-Task-Type", "other")), bytes("{}"));
    Map<String, String> expired =
        Map.of(
            "Carillon-Token",
            "old",
            "Carillon-Lease-Until",
            Instant.now().minusSeconds(60).toString());
    publish(queue, headers(UUID.randomUUID(), expired), bytes("{}"));
    publishTasks(1);

    AtomicInteger handled = new AtomicInteger();
    try (Worker worker = worker("steady", source(queue), 8, task -> handled.incrementAndGet())) {
      await().atMost(TIMEOUT).until(() -> completed() == 1 && skipped.size() == 5);
      assertThat(worker.held()).isZero();
    }
    assertThat(handled).hasValue(1);
    assertThat(skipped).anyMatch(why -> why.contains("lease expired"));
    assertThat(remaining(queue)).isZero();
  }

  Worker worker(String name, TaskSource source, int prefetch, Consumer<ClaimedTask> work) {
    return carillon
        .worker(name)
        .handle(
            queue,
            context -> {
              work.accept(context.task());
              return null;
            })
        .concurrency(4)
        .prefetch(prefetch)
        .lease(Duration.ofSeconds(20))
        .source(source)
        .start();
  }

  /** Creates tasks, claims them as the server does for a broker, and publishes them. */
  private void publishTasks(int count) {
    publishTasks(queue, queue, count);
  }

  void publishTasks(String name, String type, int count) {
    carillon.enqueueAll(
        IntStream.range(0, count)
            .mapToObj(i -> NewTask.of(type).key("k" + i).payload(List.of(i)))
            .toList());
    for (int published = 0; published < count; ) {
      published += publishDue(name, type, "10s");
    }
  }

  private static final String NO_WAIT = "0s";

  /** Claims due tasks, including released ones, and publishes them; returns their number. */
  private int publishDue(String name, String type, String wait) {
    JsonNode claimed =
        carillon
            .post(
                "/v1/work/claim",
                Map.of("types", List.of(type), "max", 500, "wait", wait, "lease", "60s"))
            .path("tasks");
    for (JsonNode task : claimed) {
      Map<String, String> more =
          Map.of(
              "Carillon-Key", task.path("key").asString(),
              "Carillon-Task-Type", type,
              "Carillon-Token", task.path("token").asString(),
              "Carillon-Fence", Long.toString(task.path("fence").asLong()),
              "Carillon-Lease-Until", task.path("leaseUntil").asString());
      UUID id = UUID.fromString(task.path("id").asString());
      publish(name, headers(id, more), bytes(task.path("payload").toString()));
    }
    return claimed.size();
  }

  private Map<String, String> headers(UUID id, Map<String, String> more) {
    Map<String, String> headers = new HashMap<>();
    headers.put("Carillon-Task-Id", id.toString());
    headers.put("Carillon-Task-Type", queue);
    headers.put("Carillon-Attempt", "1");
    headers.put("Carillon-Fence", "1");
    headers.put("Carillon-Due-At", "2027-01-31T08:00:00.000Z");
    headers.putAll(more);
    return headers;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private long completed() {
    return completed(queue);
  }

  static long completed(String type) {
    return database.count(
        "SELECT count(*) FROM carillon.task JOIN carillon.lane ON lane.id = task.lane"
            + " WHERE state = 'COMPLETED' AND lane.type = '"
            + type
            + "'");
  }

  /** A worker that accepts tasks and never finishes any. */
  private static final class Hoarder implements TaskSource.Sink {

    private final Queue<ClaimedTask> taken = new ConcurrentLinkedQueue<>();
    private final String type;

    Hoarder(String type) {
      this.type = type;
    }

    void run(TaskSource source) {
      try {
        source.run(this);
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public Set<String> types() {
      return Set.of(type);
    }

    @Override
    public String worker() {
      return "dying";
    }

    @Override
    public Duration lease() {
      return Duration.ofSeconds(20);
    }

    @Override
    public int prefetch() {
      return 10;
    }

    @Override
    public int room() {
      return Math.max(0, 10 - taken.size());
    }

    @Override
    public int awaitRoom(Duration timeout) {
      return room();
    }

    @Override
    public void accept(ClaimedTask task, Consumer<TaskSource.Ending> ended) {
      taken.add(task);
    }

    @Override
    public void connected() {}

    @Override
    public void failed(Exception why) {}
  }
}
