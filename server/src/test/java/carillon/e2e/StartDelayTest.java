package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.testkit.Postgres;
import carillon.testkit.Receiver;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Measures the start delay: the time from a task's due time to its arrival at the target. The
 * assertions are loose because the machine may be busy: no task is early, and p99 is below 250 ms.
 */
class StartDelayTest {

  private static final int TASKS = Integer.getInteger("carillon.e2e.start-delay-tasks", 200);
  private static final Duration INTERVAL = Duration.ofMillis(20);
  private static final Duration DELAY = Duration.ofSeconds(2);

  @RegisterExtension final Servers servers = new Servers();

  @Test
  void a_task_is_delivered_soon_after_its_due_time_and_never_before() {
    ServerProcess server = servers.startOn(Postgres.freshDatabase());
    try (Receiver receiver = Receiver.start();
        Carillon api = server.connect()) {
      AtomicInteger created = new AtomicInteger();
      try (var clock = Executors.newSingleThreadScheduledExecutor()) {
        var _ =
            clock.scheduleAtFixedRate(
                () -> {
                  if (created.getAndIncrement() < TASKS) {
                    create(api, receiver);
                  }
                },
                0,
                INTERVAL.toMillis(),
                TimeUnit.MILLISECONDS);
        await().atMost(Duration.ofMinutes(5)).until(() -> receiver.count() == TASKS);
      }

      List<Duration> startDelays =
          receiver.deliveries().stream()
              .map(delivery -> Duration.between(Instant.parse(due(delivery)), delivery.at()))
              .sorted()
              .toList();
      Duration p99 = startDelays.get(TASKS * 99 / 100);
      System.out.printf(
          "start delay: %d tasks, p50 %.1f ms, p99 %.1f ms, max %.1f ms%n",
          TASKS, millis(startDelays.get(TASKS / 2)), millis(p99), millis(startDelays.getLast()));
      assertThat(startDelays.getFirst())
          .as("smallest start delay")
          .isGreaterThanOrEqualTo(Duration.ZERO);
      assertThat(p99).isLessThan(Duration.ofMillis(250));
    }
  }

  /** The requested due time, from the payload: the server cannot have changed it. */
  private static String due(Receiver.Delivery delivery) {
    return delivery.body().replaceAll("^\"|\"$", "");
  }

  private static void create(Carillon api, Receiver receiver) {
    String dueAt = Instant.now().plus(DELAY).truncatedTo(ChronoUnit.MILLIS).toString();
    api.post(
        "/v1/tasks",
        Map.of(
            "type",
            "punctual",
            "dueAt",
            dueAt,
            "payload",
            dueAt,
            "target",
            Map.of("http", Map.of("url", receiver.url("/")))));
  }

  private static double millis(Duration duration) {
    return duration.toNanos() / 1e6;
  }
}
