package carillon.bench.dashboard;

import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.Wire;
import carillon.client.Carillon;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** Open tabs: each reads its own {@code /v1/events} to the end. */
final class Streams implements AutoCloseable {

  private static final String EVENT = "event:";

  private final List<Wire> wires = new ArrayList<>();
  private final LongAdder events = new LongAdder();
  private final AtomicInteger ended = new AtomicInteger();

  /**
   * Opens half of the streams for the tenant with the most tasks, every second of these limited to
   * some of its types, and each of the others for a different tenant. Each stream has its own API
   * key.
   */
  static Streams open(CarillonServer carillon, int tabs) throws IOException {
    Streams streams = new Streams();
    try {
      for (int i = 0; i < tabs; i++) {
        streams.open(carillon.wireOf(key(carillon.client(), i)));
      }
      return streams;
    } catch (IOException | RuntimeException e) {
      streams.close();
      throw e;
    }
  }

  private static String key(Carillon client, int tab) {
    String name = "tab " + tab;
    if (tab % 2 == 1) {
      return key(
          client.withTenant(DashboardData.tenant(tab / 2)), Map.of("name", name, "role", "viewer"));
    }
    return key(
        client,
        tab % 4 == 0
            ? Map.of("name", name, "role", "viewer")
            : Map.of("name", name, "role", "producer", "types", DashboardData.types(tab)));
  }

  private static String key(Carillon client, Map<String, ?> request) {
    return client.post("/v1/keys", request).path("key").asString();
  }

  private void open(Wire wire) throws IOException {
    wires.add(wire);
    BufferedReader body =
        new BufferedReader(new InputStreamReader(wire.open("/v1/events"), StandardCharsets.UTF_8));
    Thread.ofVirtual().start(() -> read(body));
  }

  private void read(BufferedReader body) {
    try {
      for (String line = body.readLine(); line != null; line = body.readLine()) {
        if (line.startsWith(EVENT)) {
          events.increment();
        }
      }
    } catch (IOException _) {
      // closed by us or by the server; counted below
    }
    ended.incrementAndGet();
  }

  /** Returns the number of events received so far on all streams. */
  long events() {
    return events.sum();
  }

  /** Fails if a stream has ended: it costs nothing, so the measurement would be invalid. */
  void check() throws IOException {
    if (ended.get() > 0 || events.sum() < wires.size()) {
      throw new IOException(
          "%d of %d streams have ended, after %d events"
              .formatted(ended.get(), wires.size(), events.sum()));
    }
  }

  @Override
  public void close() throws IOException {
    for (Wire wire : wires) {
      wire.close();
    }
  }
}
