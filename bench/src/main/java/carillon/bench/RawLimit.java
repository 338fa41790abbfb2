package carillon.bench;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/** No scheduler at all: plain rows, and plain requests, made by a process of their own. */
final class RawLimit implements Intake {

  private static final int CALLERS = 32;
  private static final Duration LIMIT = Duration.ofMinutes(3);

  private final Database database;
  private final PeerProcess process;

  RawLimit(Database database, PeerProcess process) {
    this.database = database;
    this.process = process;
  }

  @Override
  public Store store() {
    return database;
  }

  @Override
  public long pid() {
    return process.pid();
  }

  @Override
  public String settings() {
    return process.settings();
  }

  @Override
  public Taken oneByOne(Duration duration) throws IOException {
    return taken(
        process.ask(
            Map.of("do", "enqueue", "callers", CALLERS, "seconds", duration.toMillis() / 1000.0),
            LIMIT));
  }

  @Override
  public Taken inBulk(int tasks) throws IOException {
    JsonNode answer = process.ask(Map.of("do", "bulk", "tasks", tasks), LIMIT);
    return new Taken(tasks, answer.path("seconds").asDouble(), null);
  }

  /** Posts so many payloads, so many at once, and waits for all answers. */
  Taken post(String url, int tasks, int callers) throws IOException {
    return taken(
        process.ask(Map.of("do", "post", "url", url, "tasks", tasks, "callers", callers), LIMIT));
  }

  private static Taken taken(JsonNode answer) {
    return new Taken(
        answer.path("tasks").asLong(), answer.path("seconds").asDouble(), Peer.times(answer));
  }

  @Override
  public void close() throws SQLException {
    process.close();
    database.close();
  }
}
