package carillon.client;

import java.time.DateTimeException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import tools.jackson.databind.JsonNode;

/** Pulls tasks from Carillon with long polls, one request at a time. */
final class PullSource implements TaskSource {

  /** The server's limit for one claim. */
  static final int MAX_TYPES = 100;

  private static final int MAX_TASKS = 1_000;
  private static final Duration MAX_PAUSE = Duration.ofSeconds(5);
  private static final Duration GRACE = Duration.ofSeconds(10);

  private final Carillon carillon;
  private final Duration wait;
  private final CountDownLatch stopping = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(1);
  private volatile String worker = "";

  PullSource(Carillon carillon, Duration wait) {
    this.carillon = carillon;
    this.wait = wait;
  }

  @Override
  public void run(Sink sink) throws InterruptedException {
    worker = sink.worker();
    Backoff backoff = new Backoff(MAX_PAUSE);
    try {
      while (stopping.getCount() > 0) {
        int room = sink.awaitRoom(wait);
        if (room == 0) {
          continue;
        }
        try {
          for (JsonNode task : claim(sink, room)) {
            sink.accept(ClaimedTask.of(task), ending -> {});
          }
          backoff.reset();
          sink.connected();
        } catch (CarillonException e) {
          sink.failed(e);
          stopping.await(backoff.next(e).toNanos(), TimeUnit.NANOSECONDS);
        } catch (IllegalArgumentException | DateTimeException e) {
          sink.failed(new IllegalStateException("cannot read the response to a claim", e));
          stopping.await(backoff.next().toNanos(), TimeUnit.NANOSECONDS);
        }
      }
    } finally {
      ended.countDown();
    }
  }

  private JsonNode claim(Sink sink, int room) {
    return carillon
        .post(
            "/v1/work/claim",
            Map.of(
                "types",
                List.copyOf(sink.types()),
                "max",
                Math.min(room, MAX_TASKS),
                "wait",
                wait.toString(),
                "worker",
                sink.worker(),
                "lease",
                sink.lease().toString()),
            wait.plus(GRACE))
        .path("tasks");
  }

  /**
   * Does not close the connection of a waiting claim, because the server would keep waiting and
   * claim tasks for a worker that is gone. Asks the server to end the claim instead; if that fails,
   * the claim ends with its own timeout.
   */
  @Override
  public void stop() throws InterruptedException {
    stopping.countDown();
    while (!ended.await(0, TimeUnit.MILLISECONDS)) {
      try {
        carillon.post("/v1/work/hang-up", Map.of("worker", worker), GRACE);
      } catch (CarillonException e) {
        ended.await();
      }
      // Repeat in case the claim had only just been sent.
      ended.await(200, TimeUnit.MILLISECONDS);
    }
  }

  @Override
  public void close() {}
}
