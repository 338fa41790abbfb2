package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.store.db.Db;
import carillon.testkit.Postgres;
import carillon.testkit.Receiver;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** Tasks that a node claims in the transaction that creates them. */
class ImmediateDeliveryTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final int THREADS = 64;
  private static final int TASKS_PER_THREAD = 20;

  @RegisterExtension final Servers servers = new Servers();

  private final Db.Address address = Postgres.freshDatabase();
  private final Database database = new Database(address);

  private static Map<String, Object> task(Receiver receiver) {
    return Map.of(
        "type",
        "new",
        "target",
        Map.of("http", Map.of("url", receiver.url("/"))),
        "retry",
        Map.of("base", "100ms", "backoff", "fixed"));
  }

  private static Map<String, Object> with(Map<String, Object> task, String field, Object value) {
    Map<String, Object> more = new HashMap<>(task);
    more.put(field, value);
    return more;
  }

  private static String create(Carillon api, Map<String, Object> task) {
    return api.post("/v1/tasks", task).path("id").asString();
  }

  private static String status(Carillon api, String task) {
    return api.get("/v1/tasks/" + task).path("status").asString();
  }

  /** Records every task that is ever in the queue. */
  private void recordQueue() {
    database.execute(
        """
        CREATE TABLE carillon.queued (task uuid);
        CREATE FUNCTION carillon.note() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN INSERT INTO carillon.queued VALUES (NEW.id); RETURN NULL; END $$;
        CREATE TRIGGER note AFTER INSERT ON carillon.queue FOR EACH ROW EXECUTE FUNCTION carillon.note()
        """);
  }

  private boolean wasQueued(String task) {
    return database.count("SELECT count(*) FROM carillon.queued WHERE task = '" + task + "'") > 0;
  }

  /** Returns once the node owns its lanes, and starts new tasks. */
  private void awaitFirstStart(Carillon api, Receiver receiver) {
    await().atMost(TIMEOUT).until(() -> !wasQueued(create(api, task(receiver))));
    await().atMost(TIMEOUT).until(() -> database.unfinished() == 0);
  }

  @Test
  void a_task_that_is_due_runs_without_ever_being_in_the_queue() {
    ServerProcess server = servers.startOn(address, "--node-id", "a");
    try (Receiver receiver = Receiver.start();
        Carillon api = server.connect()) {
      recordQueue();
      awaitFirstStart(api, receiver);
      CountDownLatch held = receiver.holdResponses();

      String task = create(api, task(receiver));

      await().atMost(TIMEOUT).until(() -> receiver.byTask().containsKey(task));
      JsonNode running = api.get("/v1/tasks/" + task);
      assertThat(running.path("status").asString()).isEqualTo("RUNNING");
      assertThat(running.path("attempt").asInt()).isEqualTo(1);
      assertThat(running.path("leasedBy").asString()).startsWith("a-");
      assertThat(transitions(running)).containsExactly("PENDING RUNNING", " PENDING");
      assertThat(
              api.post("/v1/tasks/" + task + "/cancel", null).path("cancelRequested").asBoolean())
          .isTrue();

      held.countDown();
      await().atMost(TIMEOUT).until(() -> status(api, task).equals("COMPLETED"));
      assertThat(transitions(api.get("/v1/tasks/" + task)))
          .containsExactly("RUNNING COMPLETED", "PENDING RUNNING", " PENDING");
      assertThat(wasQueued(task)).isFalse();
      assertThat(receiver.byTask().get(task))
          .extracting(delivery -> delivery.attempt() + " by fence " + delivery.fence())
          .containsExactly("1 by fence 1");
      assertThat(server.metric("carillon_claimer_immediate_starts_total")).isPositive();
      database.assertConsistent();
    }
  }

  private static List<String> transitions(JsonNode task) {
    List<String> transitions = new ArrayList<>();
    task.path("transitions")
        .forEach(
            each ->
                transitions.add(each.path("from").asString("") + " " + each.path("to").asString()));
    return transitions;
  }

  @Test
  void tasks_that_may_not_start_immediately_are_in_the_queue() {
    ServerProcess server = servers.startOn(address);
    try (Receiver receiver = Receiver.start();
        Carillon api = server.connect()) {
      recordQueue();
      awaitFirstStart(api, receiver);
      Map<String, Object> task = task(receiver);
      create(api, with(task, "type", "paused"));
      api.post("/v1/types/paused/pause", null);

      String paused = create(api, with(task, "type", "paused"));
      // Each in a lane of its own: behind a task that waits, any other would wait, too.
      String later = create(api, with(with(task, "type", "later"), "delay", "500ms"));
      String keyed =
          create(api, with(with(task, "type", "keyed"), "concurrencyKey", "one-at-a-time"));
      String pulled = create(api, with(task, "target", Map.of("pull", Map.of())));

      assertThat(List.of(paused, later, keyed, pulled)).allMatch(this::wasQueued);
      for (String due : List.of(later, keyed)) {
        await().atMost(TIMEOUT).until(() -> status(api, due).equals("COMPLETED"));
      }
      assertThat(status(api, paused)).isEqualTo("PENDING");
      assertThat(status(api, pulled)).isEqualTo("PENDING");
      database.assertConsistent();
    }
  }

  @Test
  void a_request_that_is_repeated_starts_one_task() {
    ServerProcess server = servers.startOn(address);
    try (Receiver receiver = Receiver.start();
        Carillon api = server.connect()) {
      recordQueue();
      awaitFirstStart(api, receiver);
      Map<String, Object> task = task(receiver);
      UnaryOperator<String> idempotent =
          key -> api.post("/v1/tasks", task, key).path("id").asString();
      UnaryOperator<String> unique =
          key -> create(api, with(with(task, "key", key), "unique", Map.of("for", "1h")));

      for (UnaryOperator<String> request : List.of(idempotent, unique)) {
        AtomicReference<String> key = new AtomicReference<>();
        AtomicReference<String> id = new AtomicReference<>();
        await()
            .atMost(TIMEOUT)
            .until(
                () -> {
                  key.set(UUID.randomUUID().toString());
                  id.set(request.apply(key.get()));
                  return !wasQueued(id.get());
                });

        assertThat(request.apply(key.get())).isEqualTo(id.get());

        await().atMost(TIMEOUT).until(() -> status(api, id.get()).equals("COMPLETED"));
        assertThat(receiver.byTask().get(id.get())).hasSize(1);
      }
      database.assertConsistent();
    }
  }

  @Test
  void a_task_started_immediately_by_a_node_that_dies_is_delivered_by_another() {
    ServerProcess first = servers.startOn(address, "--node-id", "a", "--node-lease", "2s");
    try (Receiver receiver = Receiver.start()) {
      recordQueue();
      CountDownLatch killed = new CountDownLatch(1);
      String task;
      try (Carillon api = first.connect()) {
        awaitFirstStart(api, receiver);
        receiver.respondWith(
            delivery -> {
              if (delivery.attempt() == 1) {
                killed.await();
              }
              return 200;
            });
        task = create(api, task(receiver));
        await().atMost(TIMEOUT).until(() -> receiver.byTask().containsKey(task));
        assertThat(wasQueued(task)).isFalse();
      }
      first.kill9();
      ServerProcess second = servers.startOn(address, "--node-id", "b", "--node-lease", "2s");

      try (Carillon api = second.connect()) {
        await().atMost(TIMEOUT).until(() -> status(api, task).equals("COMPLETED"));
        killed.countDown();
        JsonNode completed = api.get("/v1/tasks/" + task);
        assertThat(completed.path("leasedBy").asString()).startsWith("b-");
        assertThat(completed.path("attempt").asInt()).isEqualTo(2);
        assertThat(completed.path("attempts").path(1).path("error").path("kind").asString())
            .isEqualTo("crashed");
      }
      assertThat(receiver.byTask().get(task))
          .extracting(Receiver.Delivery::fence)
          .containsExactly(1, 2);
      database.assertConsistent();
    }
  }

  @Test
  void tasks_that_many_clients_create_are_each_delivered_once() throws Exception {
    ServerProcess server = servers.startOn(address, "--concurrency", "16");
    try (Receiver receiver = Receiver.start();
        Carillon api = server.connect();
        ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      recordQueue();
      awaitFirstStart(api, receiver);
      Set<String> created = ConcurrentHashMap.newKeySet();
      created.addAll(receiver.byTask().keySet());

      List<? extends Future<?>> clients =
          IntStream.range(0, THREADS)
              .mapToObj(
                  _ ->
                      threads.submit(
                          () -> {
                            for (int i = 0; i < TASKS_PER_THREAD; i++) {
                              Map<String, Object> task = task(receiver);
                              created.add(
                                  create(api, i % 4 == 0 ? with(task, "delay", "20ms") : task));
                            }
                          }))
              .toList();
      for (Future<?> client : clients) {
        client.get();
      }
      await().atMost(TIMEOUT).until(() -> database.unfinished() == 0);

      assertThat(receiver.byTask().keySet()).isEqualTo(created);
      assertThat(receiver.count()).isEqualTo(created.size());
      assertThat(database.column("SELECT DISTINCT fence || ' ' || attempt FROM carillon.task"))
          .containsExactly("1 1");
      assertThat(database.count("SELECT count(*) FROM carillon.claim")).isZero();
      database.assertConsistent();
    }
  }
}
