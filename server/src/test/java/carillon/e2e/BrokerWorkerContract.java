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
 * What a worker does with messages, whichever broker they come from. The test stands for the
 * server's own publisher: it claims tasks and publishes them with their tokens.
 */
abstract class BrokerWorkerContract {

  static final Duration PATIENCE = Duration.ofSeconds(30);

  @RegisterExtension static final Servers nodes = new Servers();

  static Carillon carillon;
  private static Database database;

  final Queue<String> strange = new ConcurrentLinkedQueue<>();
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

  /** Makes a queue or topic with nothing in it. */
  abstract void make(String name);

  abstract void publish(String name, Map<String, String> headers, byte[] body);

  /** A source that adds to {@link #strange} what it hears of. */
  abstract TaskSource source(String name);

  /** How many messages a worker that starts now would get. */
  abstract long left(String name);

  @Test
  void tasks_are_handled_and_reported_and_their_messages_settled() {
    make(queue);
    publishTasks(200);
    Set<String> seen = ConcurrentHashMap.newKeySet();

    try (Worker worker =
        worker("one", source(queue), 16, task -> seen.add(task.key() + "=" + task.payload()))) {
      await().atMost(PATIENCE).until(() -> completed() == 200);
      assertThat(worker.isConnected()).isTrue();
    }

    assertThat(seen).hasSize(200).contains("k7=[7]");
    assertThat(left(queue)).isZero();
    assertThat(strange).isEmpty();
  }

  @Test
  void what_a_worker_had_in_hand_when_it_died_goes_to_another() throws Exception {
    make(queue);
    publishTasks(50);
    Hoarder dying = new Hoarder(queue);
    TaskSource source = source(queue);
    var run = CompletableFuture.runAsync(() -> dying.run(source));
    await().atMost(PATIENCE).until(() -> dying.taken.size() >= 10);
    source.stop();
    source.close(); // to the broker it is all the same: nothing was settled
    run.join();
    assertThat(completed()).isZero();

    Worker worker = worker("next", source(queue), 16, task -> {});
    try (worker) {
      await().atMost(PATIENCE).until(() -> completed() == 50);
    }
    assertThat(left(queue)).isZero();
  }

  @Test
  void a_worker_takes_no_more_than_it_may_have_in_hand() throws Exception {
    make(queue);
    publishTasks(60);
    CountDownLatch gate = new CountDownLatch(1);
    AtomicInteger most = new AtomicInteger();
    AtomicInteger now = new AtomicInteger();

    try (Worker worker =
        worker(
            "slow",
            source(queue),
            8,
            task -> {
              most.accumulateAndGet(now.incrementAndGet(), Math::max);
              await().atMost(PATIENCE).until(() -> gate.getCount() == 0);
              now.decrementAndGet();
            })) {
      await()
          .atMost(PATIENCE)
          .during(Duration.ofMillis(500))
          .until(() -> worker.held() == 8 && now.get() == 4);
      gate.countDown();
      await().atMost(PATIENCE).until(() -> completed() == 60);
    }
    assertThat(most).hasValueLessThanOrEqualTo(4);
    assertThat(left(queue)).isZero();
  }

  @Test
  void another_worker_may_come_and_go_in_the_middle() throws Exception {
    make(queue);
    publishTasks(300);
    AtomicInteger byFirst = new AtomicInteger();
    AtomicInteger bySecond = new AtomicInteger();
    Worker first = worker("first", source(queue), 8, task -> slowly(byFirst));
    try (first) {
      await().atMost(PATIENCE).until(() -> byFirst.get() >= 20);
      try (Worker second = worker("second", source(queue), 8, task -> slowly(bySecond))) {
        await().atMost(PATIENCE).until(() -> bySecond.get() >= 20 || completed() == 300);
        assertThat(second.held()).isLessThanOrEqualTo(8);
      }
      // What the second had not begun it gave back to the server, which publishes it again.
      await()
          .atMost(PATIENCE)
          .until(() -> publishDue(queue, queue, NO_WAIT) >= 0 && completed() == 300);
    }
    assertThat(bySecond).hasPositiveValue();
    assertThat(left(queue)).isZero();
    System.out.printf(
        "%s: %d and %d handled of 300%n",
        getClass().getSimpleName(), byFirst.get(), bySecond.get());
    assertThat(byFirst.get() + bySecond.get()).as("an orderly change repeats none").isEqualTo(300);
  }

  private static void slowly(AtomicInteger count) {
    database.execute("SELECT pg_sleep(0.01)");
    count.incrementAndGet();
  }

  @Test
  void a_message_without_a_token_is_handled_and_nothing_is_reported() {
    make(queue);
    publish(queue, headers(UUID.randomUUID(), Map.of()), bytes("{\"a\":1}"));
    publish(queue, headers(UUID.randomUUID(), Map.of("Carillon-Key", "throws")), bytes("{}"));
    publish(queue, headers(UUID.randomUUID(), Map.of()), bytes(""));
    Queue<String> seen = new ConcurrentLinkedQueue<>();

    try (Worker worker =
        worker(
            "untold",
            source(queue),
            8,
            task -> {
              seen.add(task.payload().toString());
              if (task.key() != null) {
                throw new IllegalStateException("no");
              }
            })) {
      await().atMost(PATIENCE).until(() -> seen.size() == 3 && worker.held() == 0);
    }
    assertThat(seen).containsExactlyInAnyOrder("{\"a\":1}", "{}", "null");
    assertThat(left(queue)).isZero();
  }

  @Test
  void unusable_messages_are_reported_and_skipped() {
    make(queue);
    publish(queue, Map.of(), bytes("hello"));
    publish(queue, headers(UUID.randomUUID(), Map.of()), bytes("{"));
    publish(queue, headers(UUID.randomUUID(), Map.of("Carillon-Fence", "x")), bytes("{}"));
    publish(queue, headers(UUID.randomUUID(), Map.of("Carillon-Task-Type", "other")), bytes("{}"));
    Map<String, String> late =
        Map.of(
            "Carillon-Token",
            "old",
            "Carillon-Lease-Until",
            Instant.now().minusSeconds(60).toString());
    publish(queue, headers(UUID.randomUUID(), late), bytes("{}"));
    publishTasks(1);

    AtomicInteger handled = new AtomicInteger();
    try (Worker worker = worker("calm", source(queue), 8, task -> handled.incrementAndGet())) {
      await().atMost(PATIENCE).until(() -> completed() == 1 && strange.size() == 5);
      assertThat(worker.held()).isZero();
    }
    assertThat(handled).hasValue(1);
    assertThat(strange).anyMatch(why -> why.contains("lease expired"));
    assertThat(left(queue)).isZero();
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

  /** Publishes what is due, once more also what a worker gave back; says how many. */
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

  /** A worker that takes tasks and never ends one. */
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
    public int awaitRoom(Duration patience) {
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
