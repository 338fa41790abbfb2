package carillon.chaos.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.chaos.history.Event;
import carillon.chaos.history.History;
import carillon.chaos.history.Recorder;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReceiverTest {

  private final RandomStreams streams = new RandomStreams(1);
  private final HttpClient http = HttpClient.newHttpClient();
  @TempDir private Path directory;
  private Recorder recorder;
  private Receiver receiver;

  @BeforeEach
  void start() throws IOException {
    recorder = new Recorder(directory.resolve(History.EVENTS), InstantSource.system());
    receiver = Receiver.start(streams, recorder);
    receiver.know(new Tenant("tenant-1", "marker-1", "key", "c2VjcmV0"));
    receiver.know(new Tenant("tenant-2", "marker-2", "key", "c2VjcmV0"));
  }

  @AfterEach
  void close() throws IOException {
    http.close();
    receiver.close();
    recorder.close();
  }

  private long numberOf(Behaviour behaviour) {
    long n = 0;
    while (Behaviour.of(streams, n) != behaviour) {
      n++;
    }
    return n;
  }

  private int deliver(Behaviour behaviour, int attempt, String marker)
      throws IOException, InterruptedException {
    String body = "{\"marker\":\"%s\",\"n\":%d}".formatted(marker, numberOf(behaviour));
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(receiver.urlFor("tenant-1")))
            .header("Carillon-Task-Id", "task")
            .header("Carillon-Task-Type", "web")
            .header("Carillon-Attempt", Integer.toString(attempt))
            .header("Carillon-Fence", Integer.toString(attempt + 3))
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    return http.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
  }

  private List<Event> events() throws IOException {
    return History.read(directory).events();
  }

  @Test
  void the_number_determines_the_behaviour_and_both_ends_are_recorded() throws Exception {
    assertThat(deliver(Behaviour.OK, 1, "marker-1")).isEqualTo(200);
    assertThat(deliver(Behaviour.FAILS_ONCE, 1, "marker-1")).isEqualTo(500);
    assertThat(deliver(Behaviour.FAILS_ONCE, 2, "marker-1")).isEqualTo(200);
    assertThat(deliver(Behaviour.FAILS, 9, "marker-1")).isEqualTo(500);
    assertThat(deliver(Behaviour.LATER, 1, "marker-1")).isEqualTo(429);
    assertThat(deliver(Behaviour.TRICKLE, 1, "marker-1")).isEqualTo(200);

    Awaitility.await().untilAsserted(() -> assertThat(events()).hasSize(12));
    Event start = events().getFirst();
    assertThat(start.need("task")).isEqualTo("task");
    assertThat(start.number("attempt")).isEqualTo(1);
    assertThat(start.number("fence")).isEqualTo(4);
    assertThat(start.need("tenant")).isEqualTo("tenant-1");
    assertThat(start.fields().is("signatureValid")).isFalse();
    Event end = events().get(1);
    assertThat(end.need("status")).isEqualTo("200");
    assertThat(end.number("answered")).isBetween(start.wall(), end.wall());
  }

  @Test
  void a_reset_follows_the_complete_request() throws Exception {
    assertThatThrownBy(() -> deliver(Behaviour.RESET, 1, "marker-1"))
        .isInstanceOf(IOException.class);

    Awaitility.await().untilAsserted(() -> assertThat(events()).hasSize(2));
    assertThat(events().getLast().need("status")).isEqualTo("rst");
    assertThat(deliver(Behaviour.RESET, 2, "marker-1")).isEqualTo(200);
  }

  @Test
  void the_marker_determines_the_tenant_of_a_delivery() throws Exception {
    deliver(Behaviour.OK, 1, "marker-2");

    Event start = events().getFirst();
    assertThat(start.need("tenant")).isEqualTo("tenant-2");
    assertThat(start.need("expected")).isEqualTo("tenant-1");
  }
}
