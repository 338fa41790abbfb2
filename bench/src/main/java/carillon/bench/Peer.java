package carillon.bench;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/** Another scheduler, in a process of its own that speaks the protocol of {@link PeerProcess}. */
final class Peer implements Scheduler {

  private static final int CALLERS = 32;
  private static final Duration LIMIT = Duration.ofMinutes(3);
  private static final int MANY = 10_000;

  private final Store store;
  private final PeerProcess process;
  private boolean works;
  private long before;
  private long loaded;
  private long began;
  private long ended;

  Peer(Store store, PeerProcess process) {
    this.store = store;
    this.process = process;
  }

  @Override
  public Store store() {
    return store;
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
  public void load(int tasks) throws IOException {
    rest();
    ask("load", Map.of("tasks", tasks));
    expect(tasks);
  }

  private void expect(int tasks) throws IOException {
    before = counted();
    loaded = tasks;
    began = System.nanoTime();
  }

  @Override
  public void loadFuture(int tasks) throws IOException {
    rest();
    ask("future", Map.of("tasks", tasks));
  }

  @Override
  public void release() throws IOException {
    work("drain");
  }

  private void work(String purpose) throws IOException {
    ask("work", Map.of("for", purpose));
    works = true;
  }

  private void rest() throws IOException {
    if (works) {
      ask("rest", Map.of());
      works = false;
    }
  }

  /**
   * What it counts itself, until that is everything; from then on what its store shows, because a
   * handler that has run is not yet a task that is done.
   */
  @Override
  public long finished() throws IOException {
    long asked = System.nanoTime();
    long done = counted() - before;
    if (done == 0) {
      began = asked;
    } else if (done >= loaded) {
      asked = System.nanoTime();
      done = loaded - ask("left", Map.of()).path("left").asLong();
    }
    ended = asked;
    return before + done;
  }

  private long counted() throws IOException {
    return ask("finished", Map.of()).path("finished").asLong();
  }

  /** To some milliseconds: from when nothing was known to have run to when nothing was left. */
  @Override
  public double seconds(long tasks) {
    return (ended - began) / 1e9;
  }

  @Override
  public Taken oneByOne(Duration duration) throws IOException {
    JsonNode answer =
        ask("enqueue", Map.of("callers", CALLERS, "seconds", duration.toMillis() / 1000.0));
    return new Taken(
        answer.path("tasks").asLong(), answer.path("seconds").asDouble(), times(answer));
  }

  @Override
  public Taken inBulk(int tasks) throws IOException {
    JsonNode answer = ask("bulk", Map.of("tasks", tasks));
    return new Taken(tasks, answer.path("seconds").asDouble(), null);
  }

  @Override
  public Duration lead(int tasks) {
    return Duration.ofSeconds(tasks > MANY ? 12 : 5);
  }

  @Override
  public void schedule(int tasks, Instant from, Duration window) throws IOException {
    rest();
    expect(tasks);
    work("onTime");
    ask(
        "schedule",
        Map.of("tasks", tasks, "from", from.toEpochMilli(), "windowMillis", window.toMillis()));
  }

  @Override
  public Lateness lateness() throws IOException {
    JsonNode answer = ask("late", Map.of());
    return new Lateness(
        times(answer), answer.path("first").asDouble(), answer.path("last").asDouble());
  }

  static Times times(JsonNode answer) {
    JsonNode millis = answer.path("millis");
    return new Times(
        millis.path(0).asDouble(), millis.path(1).asDouble(), millis.path(2).asDouble());
  }

  private JsonNode ask(String what, Map<String, ?> more) throws IOException {
    Map<String, Object> command = new LinkedHashMap<>();
    command.put("do", what);
    command.putAll(more);
    return process.ask(command, LIMIT);
  }

  @Override
  public void close() throws IOException, SQLException {
    process.close();
    store.close();
  }
}
