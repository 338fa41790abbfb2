package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.store.db.Db;
import carillon.testkit.Postgres;
import carillon.testkit.Receiver;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** Cancels tasks at the moment when they become due. */
class CancelRaceTest {

  private static final int THREADS = 16;
  private static final int ROUNDS = 5;
  private static final int TASKS_PER_ROUND = 25;
  private static final int TASKS = THREADS * ROUNDS * TASKS_PER_ROUND;

  /** Time between the due times of a thread's tasks; a slow machine can still keep up. */
  private static final Duration GAP = Duration.ofMillis(30);

  private static final Duration LEAD = Duration.ofMillis(300);
  private static final int MAX_OFFSET_MICROS = 20_000;

  @RegisterExtension final Servers servers = new Servers();

  private final Database database;
  private final ServerProcess server;
  private final URI url;
  private final String key;
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final Map<String, Integer> statuses = new ConcurrentHashMap<>();

  CancelRaceTest() {
    Db.Address address = Postgres.freshDatabase();
    database = new Database(address);
    server = servers.startOn(address);
    url = server.url();
    key = server.adminKey();
  }

  @Test
  void a_task_whose_cancel_was_confirmed_is_never_delivered() throws Exception {
    try (Receiver receiver = Receiver.start()) {
      raceInThreads(receiver, 1); // warm-up
      raceInThreads(receiver, ROUNDS - 1);
      await().atMost(Duration.ofMinutes(1)).until(() -> database.unfinished() == 0);

      System.out.printf("cancel race: %s%n", counts());
      assertThat(statuses).hasSize(TASKS);
      assertThat(statuses.values()).as("both outcomes of the race").contains(200, 202);
      Set<String> delivered = receiver.byTask().keySet();
      Map<String, String> states = states();
      statuses.forEach(
          (task, status) -> {
            switch (status) {
              case 200 -> {
                assertThat(delivered).as("cancel returned 200").doesNotContain(task);
                assertThat(states.get(task)).isEqualTo("CANCELLED");
              }
              case 202 -> assertThat(states.get(task)).isIn("CANCELLED", "COMPLETED");
              case 409 -> assertThat(states.get(task)).isEqualTo("COMPLETED");
              default -> throw new AssertionError("a cancel returned " + status);
            }
          });
      assertThat(receiver.count()).as("deliveries").isEqualTo(delivered.size());
      database.assertConsistent();
    }
  }

  private void raceInThreads(Receiver receiver, int rounds)
      throws InterruptedException, ExecutionException {
    List<Future<?>> races = new ArrayList<>();
    try (var threads = Executors.newFixedThreadPool(THREADS)) {
      for (int i = 0; i < THREADS; i++) {
        races.add(
            threads.submit(
                () -> {
                  for (int round = 0; round < rounds; round++) {
                    race(receiver);
                  }
                  return null;
                }));
      }
    }
    for (Future<?> race : races) {
      race.get();
    }
  }

  private void race(Receiver receiver) throws IOException, InterruptedException {
    Instant first = Instant.now().plus(LEAD).truncatedTo(ChronoUnit.MILLIS);
    List<String> tasks = create(receiver, first);
    for (int i = 0; i < tasks.size(); i++) {
      int offset = ThreadLocalRandom.current().nextInt(-MAX_OFFSET_MICROS, MAX_OFFSET_MICROS);
      awaitInstant(due(first, i).plus(offset, ChronoUnit.MICROS));
      statuses.put(tasks.get(i), cancel(tasks.get(i)));
    }
  }

  private static Instant due(Instant first, int task) {
    return first.plus(GAP.multipliedBy(task));
  }

  private static void awaitInstant(Instant at) {
    for (Instant now = Instant.now(); now.isBefore(at); now = Instant.now()) {
      LockSupport.parkNanos(now.until(at, ChronoUnit.NANOS));
    }
  }

  private List<String> create(Receiver receiver, Instant first) {
    Map<String, Object> target = Map.of("http", Map.of("url", receiver.url("/")));
    List<Map<String, Object>> tasks = new ArrayList<>();
    for (int i = 0; i < TASKS_PER_ROUND; i++) {
      tasks.add(Map.of("type", "race", "dueAt", due(first, i).toString(), "target", target));
    }
    try (Carillon api = Carillon.connect(url, key)) {
      return api.post("/v1/tasks/batch", Map.of("tasks", tasks))
          .path("ids")
          .valueStream()
          .map(JsonNode::asString)
          .toList();
    }
  }

  private int cancel(String task) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url + "/v1/tasks/" + task + "/cancel"))
            .header("Authorization", "Bearer " + key)
            .POST(BodyPublishers.noBody())
            .build();
    return http.send(request, BodyHandlers.ofString()).statusCode();
  }

  private Map<String, String> states() {
    Map<String, String> states = new HashMap<>();
    for (String line : database.column("SELECT id || ' ' || state FROM carillon.task")) {
      states.put(line.substring(0, line.indexOf(' ')), line.substring(line.indexOf(' ') + 1));
    }
    return states;
  }

  private Map<Integer, Long> counts() {
    Map<Integer, Long> counts = new TreeMap<>();
    statuses.values().forEach(status -> counts.merge(status, 1L, Long::sum));
    return counts;
  }
}
