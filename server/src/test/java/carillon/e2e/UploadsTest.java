package carillon.e2e;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import carillon.testkit.Postgres;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * One tenant uploads all it can, fast and slowly, to a node with the memory that people have who
 * change nothing. Others must not notice.
 *
 * <p>The suite runs it short. {@code -Dcarillon.uploads.batches=50} sends 50 of the largest batches
 * in a row and as many four at once, and prints what it saw.
 */
class UploadsTest {

  private static final int BATCHES = Integer.getInteger("carillon.uploads.batches", 2);
  private static final int SLOW = 64;

  /** One second is promised of a machine of its own; in the suite other tests share the cores. */
  private static final Duration LIVE_WITHIN = Duration.ofSeconds(BATCHES < 50 ? 5 : 1);

  @RegisterExtension final Servers servers = new Servers();

  private final ServerProcess server = servers.startAsShipped(Postgres.freshDatabase());
  private final HttpClient client =
      HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();
  private final HttpClient quiet =
      HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();
  private final CountDownLatch over = new CountDownLatch(1);

  /** The largest batch: 64 MiB in 100,000 tasks, with one character beyond Latin-1. */
  private static byte[] batch() {
    StringBuilder text = new StringBuilder(64 << 20);
    String task = "{\"type\":\"bulk\",\"delay\":\"24h\",\"payload\":\"" + "x".repeat(620) + "\"}";
    text.append("{\"tasks\":[{\"type\":\"bulk\",\"delay\":\"24h\",\"payload\":\"\u20ac\"}");
    for (int i = 1; i < 100_000 && text.length() + task.length() + 8 < 64 << 20; i++) {
      text.append(',').append(task);
    }
    return text.append("]}").toString().getBytes(UTF_8);
  }

  private HttpRequest.Builder request(String key, String path) {
    return HttpRequest.newBuilder(URI.create(server.url() + path))
        .timeout(Duration.ofMinutes(1))
        .header("Authorization", "Bearer " + key)
        .header("Content-Type", "application/json");
  }

  private String key(String tenant, String role) throws Exception {
    String admin = server.adminKey();
    send(request(admin, "/v1/tenants/" + tenant).PUT(HttpRequest.BodyPublishers.ofString("{}")));
    String body = "{\"name\": \"test\", \"role\": \"" + role + "\"}";
    String answer =
        send(request(admin, "/v1/keys")
                .header("Carillon-Tenant", tenant)
                .POST(HttpRequest.BodyPublishers.ofString(body)))
            .body();
    return answer.replaceFirst("(?s).*\"key\":\"([^\"]+)\".*", "$1");
  }

  private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  /** Sends a head and then its body byte by byte until the test is over or it is cut off. */
  private void trickle(String key, String path, String framing, String start) {
    URI url = server.url();
    try (Socket socket = new Socket(url.getHost(), url.getPort())) {
      OutputStream out = socket.getOutputStream();
      out.write(
          ("POST %s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n%s\r\n"
                  + "Content-Type: application/json\r\n\r\n%s")
              .formatted(path, key, framing, start)
              .getBytes(UTF_8));
      boolean isWhole = start.endsWith("0\r\n\r\n");
      while (!over.await(3, TimeUnit.SECONDS)) {
        out.write(isWhole ? "".getBytes(UTF_8) : " ".getBytes(UTF_8));
      }
    } catch (IOException e) {
      // Too slow for it: closed.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Asks until the test is over; what was not as it should be is noted. */
  private void probe(
      Callable<Integer> call,
      String what,
      AtomicLong slowest,
      ConcurrentLinkedQueue<String> wrong) {
    try {
      do {
        long start = System.nanoTime();
        int status = call.call();
        slowest.accumulateAndGet(System.nanoTime() - start, Math::max);
        if (status / 100 != 2) {
          wrong.add(what + " " + status);
        }
      } while (!over.await(50, TimeUnit.MILLISECONDS));
    } catch (Exception e) {
      wrong.add(what + " " + e);
    }
  }

  private int post(HttpClient by, String key, String path, String json) throws Exception {
    HttpRequest request =
        request(key, path).POST(HttpRequest.BodyPublishers.ofString(json)).build();
    return by.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
  }

  /** As a load balancer asks; without a client that is busy with the uploads. */
  private int live() throws IOException {
    URI url = server.url();
    try (Socket socket = new Socket(url.getHost(), url.getPort())) {
      socket
          .getOutputStream()
          .write(
              "GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".getBytes(UTF_8));
      String answer = new String(socket.getInputStream().readAllBytes(), UTF_8);
      return Integer.parseInt(answer.split(" ", 3)[1]);
    }
  }

  private List<Integer> upload(String key, byte[] batch, int atOnce) throws Exception {
    List<Integer> statuses = Collections.synchronizedList(new ArrayList<>());
    try (ExecutorService threads = Executors.newFixedThreadPool(atOnce)) {
      List<Future<?>> sent = new ArrayList<>();
      for (int i = 0; i < BATCHES; i++) {
        sent.add(
            threads.submit(
                () -> {
                  statuses.add(
                      send(request(key, "/v1/tasks/batch")
                              .POST(HttpRequest.BodyPublishers.ofByteArray(batch)))
                          .statusCode());
                  return null;
                }));
      }
      for (Future<?> each : sent) {
        each.get();
      }
    }
    return statuses;
  }

  @Test
  void others_do_not_notice_what_one_tenant_uploads() throws Exception {
    String producer = key("loud", "producer");
    String viewer = key("loud", "viewer");
    String worker = key("loud", "worker");
    String other = key("quiet", "producer");
    AtomicLong live = new AtomicLong();
    AtomicLong create = new AtomicLong();
    ConcurrentLinkedQueue<String> wrong = new ConcurrentLinkedQueue<>();
    byte[] batch = batch();
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      threads.execute(
          () -> trickle(producer, "/v1/tasks/batch", "Content-Length: 67108864", "{\"tasks\":["));
      for (int i = 0; i < SLOW; i++) {
        threads.execute(
            () ->
                trickle(viewer, "/v1/schedules/preview", "Content-Length: 1048576", "{\"cron\":"));
        threads.execute(
            () ->
                trickle(
                    worker,
                    "/v1/work/claim",
                    "Transfer-Encoding: chunked",
                    "28\r\n{\"types\":[\"nothing\"],\"wait\":\"60s\"      }\r\n0\r\n\r\n"));
      }
      threads.execute(() -> probe(this::live, "/health/live", live, wrong));
      threads.execute(
          () ->
              probe(
                  () -> post(quiet, other, "/v1/tasks", "{\"type\":\"t\",\"delay\":\"1h\"}"),
                  "create",
                  create,
                  wrong));

      long before = server.residentBytes();
      long start = System.nanoTime();
      List<Integer> inARow = upload(producer, batch, 1);
      List<Integer> atOnce = upload(producer, batch, 4);
      long took = System.nanoTime() - start;
      over.countDown();

      System.out.printf(
          "uploads: %d batches of %d bytes in a row %s, then 4 at once %s, in %.1f s;"
              + " live within %d ms, create within %d ms; RSS %d to %d MiB%n",
          BATCHES,
          batch.length,
          inARow,
          atOnce,
          took / 1e9,
          live.get() / 1_000_000,
          create.get() / 1_000_000,
          before >> 20,
          server.residentBytes() >> 20);
      assertThat(inARow).containsOnly(202);
      assertThat(atOnce).containsOnly(202);
    } finally {
      over.countDown();
      client.close();
      quiet.close();
    }
    assertThat(wrong).isEmpty();
    assertThat(Duration.ofNanos(live.get())).isLessThan(LIVE_WITHIN);
    assertThat(server.isAlive()).isTrue();
  }
}
