package carillon.bench.systems;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/** Another scheduler, in its own process. */
public final class Peer extends OwnProcess implements Scheduler {

  private static final int LONG_LEAD_ABOVE = 10_000;

  private boolean isWorking;
  private long before;
  private long loaded;
  private long began;
  private long ended;

  Peer(Store store, PeerProcess process) {
    super(store, process);
  }

  @Override
  public void load(int tasks) throws IOException {
    stop();
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
    stop();
    ask("future", Map.of("tasks", tasks));
  }

  @Override
  public void release() throws IOException {
    work("drain");
  }

  private void work(String purpose) throws IOException {
    ask("work", Map.of("for", purpose));
    isWorking = true;
  }

  private void stop() throws IOException {
    if (isWorking) {
      ask("stop", Map.of());
      isWorking = false;
    }
  }

  /**
   * Returns its own count until all tasks have run; from then on the count of its store, because a
   * task is not done until its row is updated.
   */
  @Override
  public long finished() throws IOException {
    long asked = System.nanoTime();
    long done = counted() - before;
    if (done == 0) {
      began = asked;
    } else if (done >= loaded) {
      asked = System.nanoTime();
      done = loaded - ask("remaining", Map.of()).path("remaining").asLong();
    }
    ended = asked;
    return before + done;
  }

  private long counted() throws IOException {
    return ask("finished", Map.of()).path("finished").asLong();
  }

  /** Precise to a few milliseconds: from the last poll with no run to the poll with none left. */
  @Override
  public double seconds(long tasks) {
    return (ended - began) / 1e9;
  }

  @Override
  public Duration lead(int tasks) {
    return Duration.ofSeconds(tasks > LONG_LEAD_ABOVE ? 12 : 3);
  }

  @Override
  public void schedule(int tasks, Instant from, Duration window) throws IOException {
    stop();
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
