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
 * One tenant uploads as much as it can, over fast and slow connections, to a node with the default
 * memory settings. Other tenants must not notice.
 *
 * <p>The suite runs a short version. {@code -Dcarillon.uploads.batches=50} sends 50 of the largest
 * batches one after the other and 50 more four at a time, and prints the measurements.
 */
class UploadsTest {

  private static final int BATCHES = Integer.getInteger("carillon.uploads.batches", 2);
  private static final int SLOW_UPLOADS = 64;

  /** The promise of one second holds on a dedicated machine; the suite shares its cores. */
  private static final Duration MAX_LIVENESS_TIME = Duration.ofSeconds(BATCHES < 50 ? 5 : 1);

  @RegisterExtension final Servers servers = new Servers();

  private final ServerProcess server = servers.startWithShippedFlags(Postgres.freshDatabase());
  private final HttpClient uploadClient =
      HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();
  private final HttpClient otherClient =
      HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();
  private final CountDownLatch done = new CountDownLatch(1);

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
    String response =
        send(request(admin, "/v1/keys")
                .header("Carillon-Tenant", tenant)
                .POST(HttpRequest.BodyPublishers.ofString(body)))
            .body();
    return response.replaceFirst("(?s).*\"key\":\"([^\"]+)\".*", "$1");
  }

  private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    return uploadClient.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  /** Sends a request, and bytes of its body slowly until the test ends or the server closes. */
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
      while (!done.await(3, TimeUnit.SECONDS)) {
        out.write(isWhole ? "".getBytes(UTF_8) : " ".getBytes(UTF_8));
      }
    } catch (IOException e) {
      // The server closed the slow connection.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Repeats a call until the test ends; records the slowest response and all failures. */
  private void probe(
      Callable<Integer> call,
      String name,
      AtomicLong slowest,
      ConcurrentLinkedQueue<String> failures) {
    try {
      do {
        long start = System.nanoTime();
        int status = call.call();
        slowest.accumulateAndGet(System.nanoTime() - start, Math::max);
        if (status / 100 != 2) {
          failures.add(name + " " + status);
        }
      } while (!done.await(50, TimeUnit.MILLISECONDS));
    } catch (Exception e) {
      failures.add(name + " " + e);
    }
  }

  private int post(HttpClient client, String key, String path, String json) throws Exception {
    HttpRequest request =
        request(key, path).POST(HttpRequest.BodyPublishers.ofString(json)).build();
    return client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
  }

  /** The probe of a load balancer, on its own connection because the client is busy uploading. */
  private int live() throws IOException {
    URI url = server.url();
    try (Socket socket = new Socket(url.getHost(), url.getPort())) {
      socket
          .getOutputStream()
          .write(
              "GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".getBytes(UTF_8));
      String response = new String(socket.getInputStream().readAllBytes(), UTF_8);
      return Integer.parseInt(response.split(" ", 3)[1]);
    }
  }

  private List<Integer> upload(String key, byte[] batch, int concurrent) throws Exception {
    List<Integer> statuses = Collections.synchronizedList(new ArrayList<>());
    try (ExecutorService threads = Executors.newFixedThreadPool(concurrent)) {
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
  void uploads_of_one_tenant_do_not_affect_other_tenants() throws Exception {
    String producer = key("loud", "producer");
    String viewer = key("loud", "viewer");
    String worker = key("loud", "worker");
    String other = key("quiet", "producer");
    AtomicLong live = new AtomicLong();
    AtomicLong create = new AtomicLong();
    ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
    byte[] batch = batch();
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      threads.execute(
          () -> trickle(producer, "/v1/tasks/batch", "Content-Length: 67108864", "{\"tasks\":["));
      for (int i = 0; i < SLOW_UPLOADS; i++) {
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
      threads.execute(() -> probe(this::live, "/health/live", live, failures));
      threads.execute(
          () ->
              probe(
                  () -> post(otherClient, other, "/v1/tasks", "{\"type\":\"t\",\"delay\":\"1h\"}"),
                  "create",
                  create,
                  failures));

      long before = server.residentBytes();
      long start = System.nanoTime();
      List<Integer> sequential = upload(producer, batch, 1);
      List<Integer> concurrent = upload(producer, batch, 4);
      long took = System.nanoTime() - start;
      done.countDown();

      System.out.printf(
          "uploads: %d batches of %d bytes one by one %s, then 4 at a time %s, in %.1f s;"
              + " liveness within %d ms, create within %d ms; RSS %d to %d MiB%n",
          BATCHES,
          batch.length,
          sequential,
          concurrent,
          took / 1e9,
          live.get() / 1_000_000,
          create.get() / 1_000_000,
          before >> 20,
          server.residentBytes() >> 20);
      assertThat(sequential).containsOnly(202);
      assertThat(concurrent).containsOnly(202);
    } finally {
      done.countDown();
      uploadClient.close();
      otherClient.close();
    }
    assertThat(failures).isEmpty();
    assertThat(Duration.ofNanos(live.get())).isLessThan(MAX_LIVENESS_TIME);
    assertThat(server.isAlive()).isTrue();
  }
}
