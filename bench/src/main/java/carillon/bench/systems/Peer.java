package carillon.bench.systems;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/** Another scheduler, in a process of its own. */
public final class Peer extends OwnProcess implements Scheduler {

  private static final int MANY = 10_000;

  private boolean works;
  private long before;
  private long loaded;
  private long began;
  private long ended;

  Peer(Store store, PeerProcess process) {
    super(store, process);
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
  public Duration lead(int tasks) {
    return Duration.ofSeconds(tasks > MANY ? 12 : 3);
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
}
