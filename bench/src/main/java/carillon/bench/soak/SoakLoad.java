package carillon.bench.soak;

import carillon.bench.scenarios.Receiver;
import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.Tasks;
import carillon.bench.systems.Wire;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Creates tasks at a steady rate until it is closed, in batches of 1 to 2,000; one caller creates
 * single tasks, 100 a second. One in ten is due within the next 30 seconds, the others now. Of 100
 * tasks, 97 are discarded, two are delivered over HTTP, and one goes to a target that refuses every
 * second request, so it is often retried.
 */
final class SoakLoad implements AutoCloseable {

  private static final int CALLERS = 4;

  /** Tasks a second of a further caller, which creates them one by one. */
  private static final int SINGLES = 100;

  private static final int MAX_BATCH = 2_000;
  private static final double DELAYED = 0.1;
  private static final int MAX_DELAY_MILLIS = 30_000;
  private static final double HTTP = 0.02;
  private static final double FLAKY = 0.01;

  /** A caller that is further behind does not catch up: the node could not keep the rate. */
  private static final long MAX_BEHIND_NANOS = Duration.ofSeconds(5).toNanos();

  private static final Duration PAUSE_AFTER_FAILURE = Duration.ofSeconds(1);

  private final CarillonServer carillon;
  private final Receiver steady;
  private final Receiver flaky;
  private final List<Thread> callers = new ArrayList<>();
  private final LongAdder created = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private volatile boolean isStopped;

  private SoakLoad(CarillonServer carillon) throws IOException {
    this.carillon = carillon;
    this.steady = Receiver.start();
    AtomicLong requests = new AtomicLong();
    this.flaky = Receiver.start(_ -> requests.incrementAndGet() % 2 == 0);
  }

  static SoakLoad start(CarillonServer carillon, int rate) throws IOException {
    SoakLoad load = new SoakLoad(carillon);
    String discarded = carillon.newType(Map.of("target", Map.of("discard", Map.of()), "slices", 2));
    String delivered = carillon.newType(Map.of("target", http(load.steady)));
    // Enough attempts that no task dies by chance.
    Map<String, ?> retry = Map.of("maxAttempts", 50, "backoff", "fixed", "base", "500ms");
    String retried = carillon.newType(Map.of("target", http(load.flaky), "retry", retry));
    int singles = Math.min(SINGLES, rate / 2);
    Types types = new Types(discarded, delivered, retried);
    for (int i = 0; i < CALLERS; i++) {
      load.call(new Caller(types, (rate - singles) / (double) CALLERS, MAX_BATCH, new Random(i)));
    }
    load.call(new Caller(types, singles, 1, new Random(CALLERS)));
    return load;
  }

  private static Map<String, ?> http(Receiver receiver) {
    return Map.of("http", Map.of("url", receiver.url()));
  }

  /** Tasks accepted so far. */
  long created() {
    return created.sum();
  }

  /** Requests that failed so far. Whether their tasks were created is not known. */
  long failed() {
    return failed.sum();
  }

  /** The types of the tasks. */
  private record Types(String discarded, String delivered, String retried) {}

  /**
   * A thread that creates tasks.
   *
   * @param rate tasks a second
   */
  private record Caller(Types types, double rate, int maxBatch, Random random) {

    /** As many batches of 1 to 10 tasks as of 10 to 100. */
    int batch() {
      return (int) Math.exp(random.nextDouble() * Math.log(maxBatch));
    }

    String task() {
      double kind = random.nextDouble();
      String type =
          kind < FLAKY
              ? types.retried()
              : kind < FLAKY + HTTP ? types.delivered() : types.discarded();
      boolean isDelayed = random.nextDouble() < DELAYED;
      return Tasks.task(
          type, isDelayed ? ",\"delay\":\"" + random.nextInt(1, MAX_DELAY_MILLIS) + "ms\"" : "");
    }
  }

  private void call(Caller caller) {
    callers.add(Thread.ofPlatform().name("soak-" + callers.size()).start(() -> create(caller)));
  }

  private void create(Caller caller) {
    long next = System.nanoTime();
    try {
      while (!isStopped) {
        try (Wire wire = carillon.wire(null)) {
          while (!isStopped) {
            next = Math.max(next, System.nanoTime() - MAX_BEHIND_NANOS);
            int tasks = caller.batch();
            byte[] lines = Tasks.lines(tasks, _ -> caller.task());
            Thread.sleep(Duration.ofNanos(Math.max(0, next - System.nanoTime())));
            if (tasks == 1) { // a node may claim it in the transaction that creates it
              wire.post("/v1/tasks", "application/json", lines);
            } else {
              wire.post("/v1/tasks/batch", "application/x-ndjson", lines);
            }
            created.add(tasks);
            next += (long) (tasks * 1e9 / caller.rate());
          }
        } catch (IOException e) {
          failed.increment();
          System.err.println("A batch failed: " + e);
          Thread.sleep(PAUSE_AFTER_FAILURE);
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /** Stops creating tasks; the receivers stay, for the tasks that have not been delivered yet. */
  void stop() throws InterruptedException {
    isStopped = true;
    for (Thread caller : callers) {
      caller.join();
    }
  }

  @Override
  public void close() throws IOException {
    isStopped = true;
    callers.forEach(Thread::interrupt);
    steady.close();
    flaky.close();
  }
}
