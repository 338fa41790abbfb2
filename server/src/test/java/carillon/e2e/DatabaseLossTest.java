package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.testkit.OwnPostgres;
import carillon.testkit.Receiver;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Stops or freezes PostgreSQL under load; the node keeps running and loses no accepted task. */
class DatabaseLossTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final int CLIENTS = 16;

  @RegisterExtension static final Servers servers = new Servers();
  @TempDir static Path directory;

  private static OwnPostgres postgres;
  private static Receiver receiver;
  private static ServerProcess server;
  private static Carillon api;
  private static Database database;

  @BeforeAll
  static void start() {
    postgres = new OwnPostgres(directory);
    receiver = Receiver.start();
    server = servers.startOn(postgres.address());
    api = server.connect();
    database = new Database(postgres.address());
    api.put("/v1/types/loss", Map.of("target", Map.of("http", Map.of("url", receiver.url("/")))));
  }

  @AfterAll
  static void close() {
    api.close();
    server.stop();
    receiver.close();
    postgres.close();
  }

  @ParameterizedTest
  @EnumSource(OwnPostgres.Stop.class)
  void every_accepted_task_completes_once_and_claims_resume_after_a_restart_of_postgresql(
      OwnPostgres.Stop stop) {
    Producer producer = Producer.start(api, "loss", CLIENTS);
    try (producer) {
      await()
          .atMost(TIMEOUT)
          .until(() -> producer.acceptedInTheSecondBefore(System.nanoTime()) >= 100);

      postgres.stop(stop);
      long before = producer.acceptedInTheSecondBefore(System.nanoTime());
      postgres.start();

      await().atMost(TIMEOUT).until(() -> firstClaim().isPresent());
      Duration firstClaim = firstClaim().orElseThrow();
      System.out.printf(
          "%s: %d accepted in the second before, first claim %d ms after the restart%n",
          stop, before, firstClaim.toMillis());
      assertThat(before)
          .as("accepted in the last second before the stop")
          .isGreaterThanOrEqualTo(50);
      assertThat(firstClaim).isLessThan(Duration.ofSeconds(5));
      await()
          .atMost(TIMEOUT)
          .until(() -> !producer.acceptedSince(System.nanoTime() - 100_000_000L).isEmpty());
    }
    assertCompletedOnce(producer);
  }

  @Test
  void requests_fail_in_time_and_threads_stay_bounded_while_postgresql_is_frozen() {
    Producer producer = Producer.start(api, "loss", CLIENTS);
    try (producer) {
      await()
          .atMost(TIMEOUT)
          .until(() -> producer.acceptedInTheSecondBefore(System.nanoTime()) >= 100);
      int threads = server.threads();

      postgres.freeze();
      try {
        await().atMost(TIMEOUT).until(() -> producer.failures().size() >= 3 * CLIENTS);
        assertThat(server.threads()).as("threads").isLessThan(threads + 30);
      } finally {
        postgres.thaw();
      }

      long thawed = System.nanoTime();
      await().atMost(TIMEOUT).until(() -> !producer.acceptedSince(thawed).isEmpty());
      Duration longest = producer.failures().stream().max(Duration::compareTo).orElseThrow();
      System.out.printf(
          "frozen: %d requests failed, the slowest after %d ms, accepted again after %d ms%n",
          producer.failures().size(),
          longest.toMillis(),
          Duration.ofNanos(System.nanoTime() - thawed).toMillis());
      assertThat(longest).isLessThan(Duration.ofSeconds(10));
    }
    assertCompletedOnce(producer);
  }

  /** Time from the last start of PostgreSQL, including its recovery, to the first claim. */
  private static Optional<Duration> firstClaim() {
    return database
        .column(
            """
            SELECT (extract(epoch FROM started_at - pg_postmaster_start_time()) * 1000)::bigint
            FROM carillon.every_task
            WHERE started_at > pg_postmaster_start_time()
            ORDER BY started_at
            LIMIT 1
            """)
        .stream()
        .findFirst()
        .map(millis -> Duration.ofMillis(Long.parseLong(millis)));
  }

  private static void assertCompletedOnce(Producer producer) {
    await().atMost(TIMEOUT).until(() -> database.unfinished() == 0);
    assertThat(server.isAlive()).as("the node is still running").isTrue();
    assertThat(
            new HashSet<>(
                database.column("SELECT id FROM carillon.task WHERE state = 'COMPLETED'")))
        .containsAll(producer.accepted());
    assertThat(
            database.column(
                "SELECT task FROM carillon.every_transition WHERE to_state = 'COMPLETED'"))
        .doesNotHaveDuplicates();
    assertThat(receiver.byTask().keySet()).containsAll(producer.accepted());
    database.assertConsistent();
  }
}
