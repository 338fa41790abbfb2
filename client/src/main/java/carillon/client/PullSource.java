package carillon.client;

import java.time.DateTimeException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import tools.jackson.databind.JsonNode;

/** Takes tasks from Carillon itself: one request at a time, which waits until there are some. */
final class PullSource implements TaskSource {

  /** What one claim may name. */
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
          sink.failed(new IllegalStateException("the answer to a claim cannot be read", e));
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
   * A request that waits is not cut off: the server would go on waiting and claim for nobody. It is
   * asked to answer, and answers when its time is over if it does not understand.
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
      // Again, if the request had only just been sent.
      ended.await(200, TimeUnit.MILLISECONDS);
    }
  }

  @Override
  public void close() {}
}
