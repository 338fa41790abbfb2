package carillon.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Mutated requests never cause a 5xx response. */
@Tag("slow")
class FuzzTest {

  private static final long SEED = 20261115;
  private static final Duration DURATION = Duration.ofSeconds(10);

  private static final List<String> BODIES =
      List.of(
          "{\"type\":\"t\",\"key\":\"k\",\"dueAt\":\"2027-01-01T00:00:00Z\",\"priority\":5,\"payload\":{\"a\":[1.0,null]}}",
          "{\"tasks\":[{\"type\":\"t\",\"delay\":\"5m\",\"metadata\":{\"a\":\"b\"}},{\"type\":\"u\",\"ttl\":\"PT1H\"}]}",
          "{\"type\":\"t\",\"target\":{\"http\":{\"url\":\"https://example.com/\",\"headers\":{\"A\":\"b\"}}},\"retry\":{\"maxAttempts\":3}}",
          "{\"types\":[\"t\"],\"max\":5,\"wait\":\"0s\",\"worker\":\"w\",\"lease\":\"30s\"}",
          "{\"results\":[{\"id\":\"0192f0c1-7d2a-7b3c-8d4e-5f6071829304\",\"token\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAA\",\"outcome\":\"failed\"}]}",
          "{\"target\":{\"pull\":{}},\"timeout\":\"10s\",\"paused\":false,\"slices\":2}",
          "{\"name\":\"n\",\"role\":\"viewer\"}",
          "{\"type\":\"t\",\"cron\":\"*/5 1-3,H(0-9) L *"
              + " MON#1\",\"timezone\":\"Europe/Berlin\",\"dst\":{\"gap\":\"skip\"}}",
          "{\"type\":\"t\",\"every\":\"90s\",\"startAt\":\"2027-01-01T00:00:00Z\",\"overlap\":\"queue\",\"jitter\":\"1s\",\"maxRuns\":3}",
          "{\"cron\":\"30 2 * *"
              + " *\",\"timezone\":\"Europe/Berlin\",\"count\":100,\"from\":\"9999-12-30T00:00:00Z\"}",
          "{\"from\":\"2026-01-01T00:00:00Z\",\"to\":\"2026-01-02T00:00:00Z\",\"overlap\":\"allow\",\"dryRun\":true}",
          "{\"type\":\"t\",\"error\":\"x\",\"ids\":[],\"rate\":5}");

  private static final List<String> PATHS =
      List.of(
          "/v1/tasks",
          "/v1/tasks/batch",
          "/v1/tasks/cancel",
          "/v1/tasks/run",
          "/v1/work/claim",
          "/v1/work/report",
          "/v1/work/renew",
          "/v1/types/t",
          "/v1/types/t/pause",
          "/v1/keys",
          "/v1/tenants/t",
          "/v1/schedules/s",
          "/v1/schedules/s",
          "/v1/schedules/preview",
          "/v1/schedules/s/pause",
          "/v1/schedules/s/trigger",
          "/v1/schedules/s/fires?outcome=task&from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00Z&limit=5",
          "/v1/schedules/s/backfill",
          "/v1/schedules/s/backfills?limit=5",
          "/v1/schedules/s/backfills/0192f0c1-7d2a-7b3c-8d4e-5f6071829304",
          "/v1/schedules/s/backfills/0192f0c1-7d2a-7b3c-8d4e-5f6071829304/stop",
          "/v1/dead-letters/redrive",
          "/v1/dead-letters/purge",
          "/v1/redrives/0192f0c1-7d2a-7b3c-8d4e-5f6071829304/stop",
          "/v1/tasks?type=t&status=PENDING&limit=5&key=k&metadata.a=b&error=x",
          "/v1/tasks/0192f0c1-7d2a-7b3c-8d4e-5f6071829304",
          "/v1/tasks/0192f0c1-7d2a-7b3c-8d4e-5f6071829304/cancel");

  private static final List<String> METHODS =
      List.of("GET", "POST", "POST", "POST", "PUT", "PATCH", "DELETE");

  private static final List<String> FRAGMENTS =
      List.of(
          "\"",
          "{",
          "}",
          "[",
          "]",
          ",",
          "null",
          "-1",
          "1e999",
          "\\u0000",
          "\\ud800",
          "\u0000",
          "%00",
          "%",
          "'",
          "--",
          "\u20ac",
          "9999999999999999999",
          "true",
          "\r\n",
          " ",
          "..",
          "/",
          "\ufeff",
          "\"a\":1,",
          "\u007f",
          "&",
          "=");

  private final Random random = new Random(SEED);

  @Test
  void no_request_causes_a_server_error() throws IOException {
    int sent = 0;
    try (TestApi api = TestApi.start()) {
      for (long end = System.nanoTime() + DURATION.toNanos(); System.nanoTime() < end; sent++) {
        String request = request();
        String response = exchange(api, request);
        // No response is fine for bytes that are not HTTP.
        assertThat(response)
            .as(request)
            .matches(text -> text.isEmpty() || text.matches("HTTP/1.1 [234]\\d\\d.*"));
      }
      api.get("/health/live").send().expect(200);
    }
    assertThat(sent).isGreaterThan(500);
  }

  private String request() {
    String body = mutate(pick(BODIES));
    String path = random.nextInt(3) == 0 ? mutate(pick(PATHS)) : pick(PATHS);
    String type = random.nextInt(10) == 0 ? mutate("application/json") : "application/json";
    String extra =
        switch (random.nextInt(8)) {
          case 0 -> "Idempotency-Key: " + mutate("key") + "\r\n";
          case 1 -> "If-Match: " + mutate("\"1\"") + "\r\n";
          case 2 -> "Carillon-Tenant: " + mutate("default") + "\r\n";
          default -> "";
        };
    int length = body.getBytes(StandardCharsets.UTF_8).length;
    return pick(METHODS)
        + " "
        + path
        + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "
        + TestApi.ADMIN_KEY
        + "\r\nContent-Type: "
        + type
        + "\r\n"
        + extra
        + "Content-Length: "
        + length
        + "\r\n\r\n"
        + body;
  }

  private String mutate(String text) {
    StringBuilder mutated = new StringBuilder(text);
    for (int i = random.nextInt(4); i > 0 && !mutated.isEmpty(); i--) {
      int at = random.nextInt(mutated.length());
      switch (random.nextInt(4)) {
        case 0 -> mutated.deleteCharAt(at);
        case 1 -> mutated.insert(at, pick(FRAGMENTS));
        case 2 -> mutated.setCharAt(at, (char) random.nextInt(1, 300));
        default ->
            mutated.insert(
                at, mutated.substring(at, Math.min(mutated.length(), at + random.nextInt(1, 20))));
      }
    }
    return mutated.toString();
  }

  private String pick(List<String> some) {
    return some.get(random.nextInt(some.size()));
  }

  /** Returns the status line, or an empty string if there is no response. */
  private static String exchange(TestApi api, String request) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
      socket.setSoTimeout(15_000);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
      socket.shutdownOutput();
      byte[] line = socket.getInputStream().readNBytes(20);
      return new String(line, StandardCharsets.ISO_8859_1).split("\r\n", 2)[0];
    } catch (IOException e) {
      return ""; // reset after the response
    }
  }
}
