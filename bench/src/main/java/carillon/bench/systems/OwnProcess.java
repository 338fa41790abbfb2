package carillon.bench.systems;

import carillon.bench.figures.Times;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/** A system that takes tasks in, in a process that speaks the protocol of {@link PeerProcess}. */
abstract class OwnProcess implements Intake {

  private static final Duration LIMIT = Duration.ofMinutes(3);

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
  public final Taken oneByOne(Duration duration) throws IOException {
    return taken(
        ask("enqueue", Map.of("callers", CALLERS, "seconds", duration.toMillis() / 1000.0)));
  }

  @Override
  public final Taken inBulk(int tasks) throws IOException {
    JsonNode answer = ask("bulk", Map.of("tasks", tasks));
    return new Taken(tasks, answer.path("seconds").asDouble(), null);
  }

  static Taken taken(JsonNode answer) {
    return new Taken(
        answer.path("tasks").asLong(), answer.path("seconds").asDouble(), times(answer));
  }

  static Times times(JsonNode answer) {
    JsonNode millis = answer.path("millis");
    return new Times(
        millis.path(0).asDouble(), millis.path(1).asDouble(), millis.path(2).asDouble());
  }

  final JsonNode ask(String what, Map<String, ?> more) throws IOException {
    Map<String, Object> command = new LinkedHashMap<>();
    command.put("do", what);
    command.putAll(more);
    return process.ask(command, LIMIT);
  }

  @Override
  public final void close() throws IOException, SQLException {
    process.close();
    store.close();
  }
}
