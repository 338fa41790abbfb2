package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.client.NewTask;
import carillon.client.sql.Ledger;
import carillon.testkit.Postgres;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Kills worker processes at random times, and counts the effects of each task. */
class WorkerKillTest {

  private static final int TASKS = 1_000;
  private static final int KILLS = 20;
  private static final int WORKERS = 3;
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  /** Time for the reaper to reclaim expired leases, on a busy machine. */
  private static final Duration GRACE = Duration.ofSeconds(8);

  @RegisterExtension final Servers servers = new Servers();
  @TempDir Path directory;

  private final Database database = new Database(Postgres.freshDatabase());
  private final Random random = new Random(Long.getLong("seed", 7));
  private final List<Running> workers = new ArrayList<>();
  private int started;

  private record Running(String name, Process process) {}

  @Test
  void each_task_has_its_effect_once_despite_killed_workers() throws Exception {
    ServerProcess server = servers.startOn(database.address());
    prepare(server);
    for (int i = 0; i < WORKERS; i++) {
      startWorker(server);
    }

    int[] killAt = random.ints(KILLS, 10, TASKS - 100).sorted().toArray();
    for (int effects : killAt) {
      await().atMost(TIMEOUT).until(() -> effects() >= effects);
      kill(workers.remove(victim()));
      startWorker(server);
    }
    await().atMost(TIMEOUT).until(() -> database.unfinished() == 0);

    long repeated = database.count("SELECT count(*) FROM delivery WHERE fence > 1");
    long skipped = database.count("SELECT count(*) FROM skipped");
    long worst = database.count(WORST_GAP_MILLIS);
    System.out.printf(
        "workers: %d kills, %d repeated deliveries, %d of them skipped, reclaimed within %d ms%n",
        KILLS, repeated, skipped, worst);
    assertThat(repeated).as("repeated deliveries").isPositive();
    assertThat(skipped).as("repeated deliveries that the ledger skipped").isPositive();
    assertThat(database.column("SELECT DISTINCT n FROM effect")).containsExactly("1");
    assertThat(database.count("SELECT count(*) FROM processed_task")).isEqualTo(TASKS);
    assertThat(database.count("SELECT count(*) FROM carillon.task WHERE state = 'COMPLETED'"))
        .isEqualTo(TASKS);
    database.assertConsistent();
    assertThat(worst).isPositive();
    assertThat(Duration.ofMillis(worst)).isLessThan(KilledWorker.LEASE.plus(GRACE));
  }

  /** The longest time from a kill until a task of the killed worker could be claimed again. */
  private static final String WORST_GAP_MILLIS =
      """
      SELECT coalesce(max(1000 * extract(epoch FROM back.at - kill.at))::bigint, 0)
      FROM kill
      JOIN delivery ON delivery.worker = kill.worker
      JOIN carillon.transition AS back ON back.task = delivery.task
          AND back.fence = delivery.fence
          AND back.from_state = 'RUNNING'
          AND back.to_state = 'PENDING'
      """;

  private void prepare(ServerProcess server) throws Exception {
    Ledger.of(database.dataSource()).createTable();
    database.execute(
        """
        CREATE TABLE effect (key text PRIMARY KEY, n int NOT NULL);
        CREATE TABLE skipped (task uuid);
        CREATE TABLE delivery (task uuid, fence bigint, worker text,
            at timestamptz DEFAULT clock_timestamp());
        CREATE TABLE kill (worker text, at timestamptz DEFAULT clock_timestamp());
        INSERT INTO effect SELECT 'k' || i, 0 FROM generate_series(1, 1000) AS i
        """);
    try (Carillon carillon = server.connect()) {
      carillon.enqueueAll(
          IntStream.rangeClosed(1, TASKS)
              .mapToObj(i -> NewTask.of(KilledWorker.TYPE).key("k" + i))
              .toList());
    }
  }

  /** Picks a random worker that has handled a task, if there is one. */
  private int victim() {
    List<String> busy = database.column("SELECT DISTINCT worker FROM delivery");
    int first = random.nextInt(workers.size());
    for (int i = 0; i < workers.size(); i++) {
      int each = (first + i) % workers.size();
      if (busy.contains(workers.get(each).name())) {
        return each;
      }
    }
    return first;
  }

  private void kill(Running worker) throws InterruptedException {
    worker.process().destroyForcibly().waitFor();
    database.execute("INSERT INTO kill (worker) VALUES ('" + worker.name() + "')");
  }

  private void startWorker(ServerProcess server) throws IOException {
    String name = "worker-" + started++;
    ProcessBuilder builder =
        new ProcessBuilder(
                ProcessHandle.current().info().command().orElseThrow(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Xmx64m",
                "-cp",
                System.getProperty("java.class.path"),
                KilledWorker.class.getName(),
                server.url().toString(),
                server.adminKey(),
                name,
                database.address().url(),
                database.address().user(),
                database.address().password())
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve(name).toFile());
    workers.add(new Running(name, builder.start()));
  }

  private long effects() {
    return database.count("SELECT coalesce(sum(n), 0) FROM effect");
  }

  @AfterEach
  void killWorkers() {
    workers.forEach(worker -> worker.process().destroyForcibly());
  }
}
