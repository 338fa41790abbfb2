package carillon.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.api.admin.OperationsRoutes;
import carillon.api.deadletters.RestoreRoutes;
import carillon.api.error.Limits;
import carillon.api.http.Answer;
import carillon.api.http.Endpoint;
import carillon.api.http.Permission;
import carillon.api.http.RequestBody;
import carillon.api.tasks.BatchRoutes;
import carillon.store.db.Json;
import carillon.testkit.Postgres;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/**
 * Sends the largest body of every endpoint to a node with the default heap, several at once and in
 * the shapes that take the most memory. The node must respond to all of them and survive.
 */
@Tag("slow")
class LargestBodiesTest {

  private static final int CONCURRENT_REQUESTS = 4;
  private static final String ID = "0192f0c1-7d2a-7b3c-8d4e-5f6071829304";

  @RegisterExtension static final Servers SERVERS = new Servers();

  private static ServerProcess server;
  private static HttpClient client;

  @BeforeAll
  static void start() {
    server = SERVERS.startWithShippedFlags(Postgres.freshDatabase());
    client = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();
  }

  @AfterAll
  static void stop() {
    client.close();
  }

  /**
   * A body that is generated while it is sent: a start, copies of a piece, and an end.
   *
   * @param piece each # in it is replaced by a digit of the number of the copy
   */
  private record Body(String type, String start, String piece, int copies, String end) {

    /** As many copies as fit into a body of this length. */
    static Body of(int length, String start, String piece, String end) {
      int left = length - bytes(start) - bytes(end);
      return new Body(RequestBody.JSON, start, piece, left / bytes(piece), end);
    }

    Body as(String other) {
      return new Body(other, start, piece, copies, end);
    }

    private static int bytes(String text) {
      return text.getBytes(StandardCharsets.UTF_8).length;
    }

    HttpRequest.BodyPublisher publisher() {
      return HttpRequest.BodyPublishers.fromPublisher(
          HttpRequest.BodyPublishers.ofInputStream(this::stream),
          bytes(start) + (long) copies * bytes(piece) + bytes(end));
    }

    private InputStream stream() {
      return new Pieces(this);
    }
  }

  private static final class Pieces extends InputStream {
    private final Body body;
    private byte[] bytes;
    private int at;
    private int next;

    Pieces(Body body) {
      this.body = body;
      this.bytes = body.start().getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public int read() {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] buffer, int offset, int length) {
      if (at == bytes.length && next > body.copies()) {
        return -1;
      }
      int read = 0;
      while (read < length && (at < bytes.length || next <= body.copies())) {
        if (at == bytes.length) {
          String text = next == body.copies() ? body.end() : numbered(body.piece(), next);
          bytes = text.getBytes(StandardCharsets.UTF_8);
          at = 0;
          next++;
        }
        int count = Math.min(length - read, bytes.length - at);
        System.arraycopy(bytes, at, buffer, offset + read, count);
        at += count;
        read += count;
      }
      return read;
    }

    /** Keeps the length of the piece: six marks become six digits. */
    private static String numbered(String piece, int number) {
      int marks = piece.indexOf("######");
      return marks < 0 ? piece : piece.replace("######", "%06d".formatted(number % 1_000_000));
    }
  }

  /** Shapes of a body that is one object. */
  private static Map<String, Body> shapes(int length) {
    Map<String, Body> shapes = new LinkedHashMap<>();
    shapes.put("empty objects", Body.of(length, "{\"a\":[", "{},", "{}]}"));
    shapes.put("small objects", Body.of(length, "{\"a\":[", "{\"a\":0},", "0]}"));
    shapes.put("tiny items", Body.of(length, "{\"a\":[", "0,", "0]}"));
    shapes.put("nested", Body.of(length, "{\"a\":[", "[".repeat(60) + "]".repeat(60) + ",", "0]}"));
    shapes.put("fields", Body.of(length, "{", "\"######\":0,", "\"a\":0}"));
    shapes.put(
        "names in a payload", Body.of(length, "{\"payload\":{", "\"######\":0,", "\"a\":0}}"));
    shapes.put("beyond Latin-1", Body.of(length, "{\"name\":\"\u20ac", "x".repeat(100), "\"}"));
    shapes.put("digits", Body.of(length, "{\"priority\":1", "1".repeat(100), "}"));
    shapes.put("escapes", Body.of(length, "{\"key\":\"", "\\u20ac".repeat(20), "\"}"));
    shapes.put("a long name", Body.of(length, "{\"", "x".repeat(100), "\":0}"));
    return shapes;
  }

  /** Shapes of batches; all tasks are accepted except those of the last shape. */
  private static Map<String, Body> batches() {
    int length = Limits.BATCH_BYTES;
    Map<String, Body> shapes = new LinkedHashMap<>();
    shapes.put(
        "JSON with one character beyond Latin-1",
        new Body(
            RequestBody.JSON,
            "{\"tasks\":[{\"type\":\"b\",\"delay\":\"24h\",\"key\":\"\u20ac\"}",
            ",{\"type\":\"b\",\"delay\":\"24h\",\"payload\":\"" + "x".repeat(260_000) + "\"}",
            length / 260_100,
            "]}"));
    shapes.put("lines with the most metadata and headers", manyFields(20_000));
    shapes.put(
        "the most tasks",
        new Body(
            RequestBody.NDJSON,
            "",
            "{\"type\":\"b\",\"delay\":\"24h\",\"key\":\"k######\"}\n",
            Limits.BATCH_TASKS,
            ""));
    shapes.put(
        "one task of empty objects",
        Body.of(length, "{\"tasks\":[{\"type\":\"b\",\"a\":[", "{},", "0]}]}"));
    return shapes;
  }

  private static Body manyFields(int lines) {
    String line =
        ("{\"type\":\"b\",\"delay\":\"24h\",\"metadata\":{%s},"
                + "\"target\":{\"http\":{\"url\":\"https://a.example\",\"headers\":{%s}}}}\n")
            .formatted(pairs("m", Limits.METADATA_PAIRS), pairs("h", 44));
    return new Body(RequestBody.NDJSON, "", line, lines, "");
  }

  private static String pairs(String prefix, int count) {
    List<String> pairs = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      pairs.add("\"%s%d\":\"v\"".formatted(prefix, i));
    }
    return String.join(",", pairs);
  }

  /** Shapes of archives: two lines of the maximum length. */
  private static Map<String, Body> archives() {
    String start =
        ("{\"format\":1,\"tenant\":\"default\",\"id\":\"%s\",\"type\":\"t\",\"status\":\"DEAD\","
                + "\"priority\":5,\"dueAt\":\"2024-11-02T13:00:00Z\",\"attempt\":1,\"fence\":1,"
                + "\"version\":1,\"createdAt\":\"2024-11-02T13:00:00Z\","
                + "\"finishedAt\":\"2024-11-02T13:00:00Z\",\"attempts\":[")
            .formatted(ID);
    String attempt =
        "{\"attempt\":1,\"fence\":1,\"endedAt\":\"2024-11-02T13:00:00Z\",\"outcome\":\"RETRIED\","
            + "\"error\":{\"message\":\"\u20ac"
            + "x".repeat(60_000)
            + "\"},\"output\":\"\u20ac"
            + "y".repeat(60_000)
            + "\"}";
    int attempts = (Limits.ARCHIVE_LINE_BYTES - 1_000) / (attempt.length() + 10);
    Map<String, Body> shapes = new LinkedHashMap<>();
    shapes.put(
        "a line with the longest history",
        new Body(RequestBody.NDJSON, start + attempt, "," + attempt, attempts - 1, "]}\n"));
    shapes.put(
        "a line of empty objects",
        Body.of(Limits.ARCHIVE_LINE_BYTES, "{\"a\":[", "{},", "0]}").as(RequestBody.NDJSON));
    return shapes;
  }

  private record Sent(String method, String path, String shape, Body body) {}

  private static List<Sent> all() {
    List<Sent> all = new ArrayList<>();
    JsonNode paths =
        Json.MAPPER.readTree(OperationsRoutes.read(OperationsRoutes.OPENAPI)).get("paths");
    paths.forEachEntry(
        (path, item) ->
            item.forEachEntry(
                (name, _) -> {
                  String method = name.toUpperCase(Locale.ROOT);
                  Endpoint endpoint =
                      new Endpoint(
                          method, path, Permission.NONE, Set.of(), _ -> Answer.noContent());
                  if (endpoint.takesBody()) {
                    bodies(path)
                        .forEach((shape, body) -> all.add(new Sent(method, path, shape, body)));
                  }
                }));
    return all;
  }

  /** A new endpoint with a larger body needs its own shapes. */
  private static Map<String, Body> bodies(String path) {
    return switch (path) {
      case BatchRoutes.PATH -> batches();
      case RestoreRoutes.PATH -> archives();
      default -> {
        Map<String, Body> shapes = shapes(Limits.BODY_BYTES);
        if (!path.equals("/v1/tasks")) { // the same code reads all others
          shapes.keySet().retainAll(Set.of("small objects", "fields", "beyond Latin-1"));
        }
        yield shapes;
      }
    };
  }

  @Test
  void every_endpoint_handles_its_largest_body_and_the_node_survives() throws InterruptedException {
    List<Sent> sent = all();
    assertThat(sent).hasSizeGreaterThan(80);
    ConcurrentLinkedQueue<String> wrong = new ConcurrentLinkedQueue<>();
    try (var threads = Executors.newFixedThreadPool(CONCURRENT_REQUESTS)) {
      for (Sent each : sent) {
        threads.execute(
            () -> {
              try {
                int status = send(each);
                if (status >= 500 && status != 503) {
                  wrong.add(each.method() + each.path() + " " + each.shape() + ": " + status);
                }
              } catch (IOException | RuntimeException e) {
                wrong.add(each.method() + each.path() + " " + each.shape() + ": " + e);
              }
            });
      }
      threads.shutdown();
      assertThat(threads.awaitTermination(5, TimeUnit.MINUTES)).isTrue();
    }

    assertThat(server.isAlive()).as(server.output()).isTrue();
    assertThat(wrong).isEmpty();
    assertThat(liveStatus()).isEqualTo(200);
  }

  /** The objects of all these tasks together would not fit into the heap. */
  @Test
  void parsed_tasks_of_a_batch_are_not_kept_in_memory() throws IOException {
    Sent batch = new Sent("POST", BatchRoutes.PATH, "many fields", manyFields(60_000));

    assertThat(send(batch)).isEqualTo(202);
  }

  @Test
  void long_names_are_not_cached() throws IOException {
    for (int i = 0; i < 400; i++) {
      Body body = new Body(RequestBody.JSON, "{\"n" + i, "x".repeat(10_000), 100, "\":1}");

      assertThat(send(new Sent("POST", "/v1/tasks", "long names", body))).isEqualTo(400);
    }
    assertThat(liveStatus()).isEqualTo(200);
  }

  @Test
  void a_page_of_large_tasks_ends_early_and_the_next_page_continues() throws Exception {
    String task =
        "{\"type\":\"large\",\"delay\":\"24h\",\"payload\":\"" + "x".repeat(262_000) + "\"}\n";
    Body batch = new Body(RequestBody.NDJSON, "", task, 250, "");
    assertThat(send(new Sent("POST", BatchRoutes.PATH, "large tasks", batch))).isEqualTo(202);
    String list = "/v1/tasks?type=large&view=full&limit=1000";

    try (var threads = Executors.newFixedThreadPool(CONCURRENT_REQUESTS)) {
      List<Callable<Integer>> calls =
          Collections.nCopies(8, () -> send("GET", list, "", HttpRequest.BodyPublishers.noBody()));
      for (Future<Integer> status : threads.invokeAll(calls)) {
        assertThat(status.get()).isIn(200, 503);
      }
    }

    JsonNode page = page(list);
    while (page.get("items").isEmpty() && page.get("nextCursor").isString()) {
      page = page(list + "&cursor=" + page.get("nextCursor").asString()); // the machine is slow
    }
    assertThat(page.get("items").size()).isBetween(1, 50);
    assertThat(page.get("nextCursor").isNull()).isFalse();
  }

  private JsonNode page(String list) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(server.url() + list))
            .header("Authorization", "Bearer " + server.adminKey())
            .build();
    return Json.MAPPER.readTree(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
  }

  @Test
  void rows_of_a_batch_beyond_their_share_of_memory_spill_to_a_file() throws Exception {
    String task = "{\"type\":\"b\",\"delay\":\"24h\",\"payload\":\"" + "x".repeat(1_000) + "\"}\n";
    URI url = server.url();
    try (Socket socket = new Socket(url.getHost(), url.getPort())) {
      String head =
          String.join(
              "\r\n",
              "POST /v1/tasks/batch HTTP/1.1",
              "Host: x",
              "Authorization: Bearer " + server.adminKey(),
              "Content-Type: application/x-ndjson",
              "Content-Length: 60000000",
              "",
              "");
      socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      socket.getOutputStream().write(task.repeat(10_000).getBytes(StandardCharsets.US_ASCII));

      await().until(() -> metric("carillon_body_spilled_bytes") > 5_000_000);

      assertThat(metric("carillon_body_memory_bytes")).isBetween(1e6, 5e6);
    }
    await().until(() -> metric("carillon_body_spilled_bytes") == 0);
    await().until(() -> metric("carillon_body_memory_bytes") == 0);
  }

  private static double metric(String name) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(server.url().resolve("/metrics")).build();
    String all = client.send(request, HttpResponse.BodyHandlers.ofString()).body();
    return all.lines()
        .filter(line -> line.startsWith(name + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(name.length())))
        .findFirst()
        .orElseThrow();
  }

  private static int liveStatus() {
    try {
      return send("GET", "/health/live", "", HttpRequest.BodyPublishers.noBody());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int send(Sent sent) throws IOException {
    String path = sent.path().replaceAll("\\{(id|task)}", ID).replaceAll("\\{[a-z]+}", "name");
    return send(sent.method(), path, sent.body().type(), sent.body().publisher());
  }

  private static int send(String method, String path, String type, HttpRequest.BodyPublisher body)
      throws IOException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(server.url() + path))
            .header("Authorization", "Bearer " + server.adminKey())
            .timeout(Duration.ofMinutes(2))
            .method(method, body);
    if (!type.isEmpty()) {
      request.header("Content-Type", type);
    }
    try {
      return client.send(request.build(), HttpResponse.BodyHandlers.discarding()).statusCode();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }
}
