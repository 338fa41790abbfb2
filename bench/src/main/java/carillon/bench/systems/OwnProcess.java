package carillon.bench.systems;

import carillon.bench.figures.Times;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/** A system that accepts tasks, in a process with the protocol of {@link PeerProcess}. */
abstract class OwnProcess implements Intake {

  private static final Duration TIMEOUT = Duration.ofMinutes(3);

  private final Store store;
  private final PeerProcess process;

  OwnProcess(Store store, PeerProcess process) {
    this.store = store;
    this.process = process;
  }

  @Override
  public final Store store() {
    return store;
  }

  @Override
  public final long pid() {
    return process.pid();
  }

  @Override
  public final String settings() {
    return process.settings();
  }

  @Override
  public final Accepted oneByOne(Duration duration) throws IOException {
    return accepted(
        ask("enqueue", Map.of("callers", CALLERS, "seconds", duration.toMillis() / 1000.0)));
  }

  @Override
  public final Accepted inBulk(int tasks) throws IOException {
    JsonNode answer = ask("bulk", Map.of("tasks", tasks));
    return new Accepted(tasks, answer.path("seconds").asDouble(), null);
  }

  static Accepted accepted(JsonNode answer) {
    return new Accepted(
        answer.path("tasks").asLong(), answer.path("seconds").asDouble(), times(answer));
  }

  static Times times(JsonNode answer) {
    JsonNode millis = answer.path("millis");
    return new Times(
        millis.path(0).asDouble(), millis.path(1).asDouble(), millis.path(2).asDouble());
  }

  final JsonNode ask(String command, Map<String, ?> arguments) throws IOException {
    Map<String, Object> message = new LinkedHashMap<>();
    message.put("do", command);
    message.putAll(arguments);
    return process.ask(message, TIMEOUT);
  }

  @Override
  public final void close() throws IOException, SQLException {
    process.close();
    store.close();
  }
}
