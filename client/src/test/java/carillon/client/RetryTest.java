package carillon.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RetryTest {

  private static final UUID ID = UUID.fromString("01920000-0000-7000-8000-000000000001");

  /** Close the connection without a response. */
  private static final int NONE = 0;

  private final Queue<String> keys = new ConcurrentLinkedQueue<>();
  private Iterator<Integer> statuses = Stream.<Integer>empty().iterator();
  private String problem = "{}";
  private HttpServer server;
  private Carillon carillon;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          exchange.getRequestBody().readAllBytes();
          String key = exchange.getRequestHeaders().getFirst("Idempotency-Key");
          if (key != null) {
            keys.add(key);
          }
          int status = statuses.hasNext() ? statuses.next() : 202;
          if (status != NONE) {
            byte[] body =
                (status < 300 ? "{\"id\":\"" + ID + "\"}" : problem)
                    .getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().add("Retry-After", "0");
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
          }
          exchange.close();
        });
    server.start();
    carillon =
        Carillon.connect("http://127.0.0.1:" + server.getAddress().getPort(), "key")
            .withRetryFor(Duration.ofSeconds(10));
  }

  @AfterEach
  void stop() {
    carillon.close();
    server.stop(0);
  }

  @Test
  void a_call_that_may_have_taken_effect_is_repeated_with_its_key() {
    statuses = List.of(NONE, 503, 429, 502).iterator();

    CreatedTask created = carillon.enqueue(NewTask.of("t"));

    assertThat(created).isEqualTo(new CreatedTask(ID, true));
    assertThat(keys).hasSize(5).doesNotContainNull();
    assertThat(keys.stream().distinct()).hasSize(1);
  }

  @Test
  void a_repeated_call_waits_for_the_first_one() {
    statuses = List.of(409).iterator();
    problem = "{\"code\":\"idempotency_pending\"}";

    assertThat(carillon.enqueue(NewTask.of("t").idempotencyKey("mine")).id()).isEqualTo(ID);
    assertThat(keys).containsExactly("mine", "mine");
  }

  @ParameterizedTest
  @ValueSource(ints = {400, 401, 403, 409, 413, 422, 500})
  void a_permanent_error_is_thrown_immediately(int status) {
    statuses = List.of(status).iterator();

    CarillonException rejected =
        catchThrowableOfType(CarillonException.class, () -> carillon.enqueue(NewTask.of("t")));

    assertThat(rejected.status()).isEqualTo(status);
    assertThat(keys).hasSize(1);
  }

  @Test
  void the_last_error_is_thrown_after_the_limit() {
    carillon.enqueue(NewTask.of("first")); // the first call is slow on a busy machine
    keys.clear();
    statuses = Stream.generate(() -> 503).iterator();
    Carillon hasty = carillon.withRetryFor(Duration.ofSeconds(2));

    CarillonException last =
        catchThrowableOfType(CarillonException.class, () -> hasty.enqueue(NewTask.of("t")));

    assertThat(last.status()).isEqualTo(503);
    assertThat(last.retryAfter()).contains(Duration.ZERO);
    assertThat(keys).hasSizeGreaterThan(1);
  }

  @Test
  void a_schedule_missing_after_a_delete_without_a_response_was_deleted() {
    statuses = List.of(NONE, 404, 404).iterator();

    assertThat(carillon.deleteSchedule("s")).isTrue();
    assertThat(carillon.deleteSchedule("s")).isFalse();
  }

  @Test
  void an_interrupt_stops_retries_and_is_restored() {
    Thread.currentThread().interrupt();

    CarillonException interrupted =
        catchThrowableOfType(CarillonException.class, () -> carillon.enqueue(NewTask.of("t")));

    assertThat(Thread.interrupted()).isTrue();
    assertThat(interrupted.code()).isEqualTo("interrupted");
    assertThat(interrupted.isTransient()).isFalse();
  }

  @Test
  void close_waits_for_tasks_created_in_the_background() {
    var created =
        Stream.generate(() -> carillon.enqueueAsync(NewTask.of("t").idempotencyKey("k")))
            .limit(20)
            .toList();

    carillon.close();

    assertThat(created).allMatch(future -> future.isDone() && future.join().id().equals(ID));
    assertThat(carillon.enqueueAsync(NewTask.of("t"))).isCompletedExceptionally();
  }
}
