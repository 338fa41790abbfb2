package carillon.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.store.db.Db;
import carillon.testkit.FaultyProxy;
import carillon.testkit.FaultyProxy.Fault;
import carillon.testkit.Postgres;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Workers and producers whose server or network fails. */
@Tag("slow")
class WorkerFaultsTest {

  @RegisterExtension static final Servers servers = new Servers();

  private static final Db.Address database = Postgres.freshDatabase();
  private static final Path dataDir = servers.newDataDir();
  private static ServerProcess server = start("0");

  private final RecordingListener seen = new RecordingListener();
  private Carillon carillon;
  private FaultyProxy proxy;
  private Carillon faulty;

  private static ServerProcess start(String port) {
    return servers.start(dataDir, "--database-url", Servers.url(database), "--port", port);
  }

  @BeforeEach
  void connect() {
    carillon = server.connect();
    proxy = FaultyProxy.before(server.url());
    faulty = Carillon.connect(proxy.url(), server.adminKey());
  }

  @AfterEach
  void close() {
    carillon.close();
    proxy.close();
  }

  private WorkerBuilder worker() {
    return faulty.worker("tester").lease(Duration.ofSeconds(1)).listener(seen);
  }

  private TaskView awaitOver(UUID id) {
    return await().until(() -> carillon.task(id).orElseThrow(), task -> task.status().isTerminal());
  }

  @Test
  void a_task_is_created_once_if_the_response_is_lost() {
    proxy.breakPath("/v1/tasks", Fault.RESPONSE_LOST);
    var created = faulty.enqueueAsync(NewTask.of("once"));
    await().until(() -> proxy.hits("/v1/tasks") >= 2);
    proxy.heal();

    UUID id = created.join().id();

    assertThat(Lists.all(carillon, "/v1/tasks?type=once"))
        .singleElement()
        .satisfies(task -> assertThat(task.path("id").asString()).isEqualTo(id.toString()));
  }

  @Test
  void a_report_is_repeated_and_counts_once_if_the_response_is_lost() {
    UUID id = carillon.enqueue(NewTask.of("lost")).id();
    proxy.breakPath("/v1/work/report", Fault.RESPONSE_LOST);

    try (Worker worker = worker().handle("lost", context -> "done").start()) {
      await().until(() -> proxy.hits("/v1/work/report") >= 2);
      assertThat(seen.reported).hasValue(0);
      proxy.heal();
      await().until(() -> seen.reported.get() == 1 && worker.held() == 0);
    }

    TaskView task = awaitOver(id);
    assertThat(task.output()).isEqualTo("done");
    assertThat(task.fence()).isEqualTo(1);
    assertThat(seen.stale).isEmpty();
  }

  @Test
  void a_handler_with_a_lost_lease_is_notified_and_its_result_dropped() {
    UUID id = carillon.enqueue(NewTask.of("stale")).id();
    AtomicBoolean wasInterrupted = new AtomicBoolean();
    AtomicBoolean sawStale = new AtomicBoolean();
    CountDownLatch started = new CountDownLatch(1);
    proxy.breakPath("/v1/work/renew", Fault.REQUEST_REFUSED);

    Worker first =
        worker()
            .concurrency(1)
            .prefetch(1)
            .handle(
                "stale",
                context -> {
                  started.countDown();
                  try {
                    new CountDownLatch(1).await();
                  } catch (InterruptedException e) {
                    wasInterrupted.set(true);
                  }
                  sawStale.set(context.isStale());
                  return "of the first";
                })
            .start();
    await().until(() -> started.getCount() == 0);
    try (Worker second =
        carillon.worker("second").handle("stale", context -> "of the second").start()) {
      TaskView task = awaitOver(id);
      proxy.heal();
      await().until(() -> !seen.stale.isEmpty() && first.running() == 0);

      assertThat(task.output()).isEqualTo("of the second");
      assertThat(task.fence()).isEqualTo(2);
      assertThat(wasInterrupted).isTrue();
      assertThat(sawStale).isTrue();
      assertThat(seen.results).containsExactly(WorkerListener.Result.STALE);
      assertThat(carillon.task(id).orElseThrow().output()).isEqualTo("of the second");
      assertThat(second.isStopped()).isFalse();
    } finally {
      first.close();
    }
  }

  @Test
  void a_worker_continues_after_its_server_is_killed_and_restarted() {
    Map<UUID, Integer> handled = new ConcurrentHashMap<>();
    CountDownLatch some = new CountDownLatch(20);
    CountDownLatch release = new CountDownLatch(1);
    List<UUID> ids =
        carillon.enqueueAll(
            IntStream.range(0, 100).mapToObj(i -> NewTask.of("restart").payload(i)).toList());

    try (Worker worker =
        carillon
            .worker("tester")
            .listener(seen)
            .lease(Duration.ofSeconds(5))
            .concurrency(20)
            .handle(
                "restart",
                context -> {
                  handled.merge(context.id(), 1, Integer::sum);
                  some.countDown();
                  release.await();
                  return null;
                })
            .start()) {
      await().until(() -> some.getCount() == 0);
      String port = Integer.toString(server.url().getPort());
      server.kill9();
      release.countDown();
      await().until(() -> !seen.failedCalls.isEmpty());
      server = start(port);

      ids.forEach(this::awaitOver);
      await().until(() -> worker.held() == 0);

      assertThat(handled).containsOnlyKeys(ids);
      assertThat(worker.isConnected()).isTrue();
    }
    assertThat(Lists.all(carillon, "/v1/tasks?type=restart&status=COMPLETED")).hasSize(100);
  }
}
