package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.figures.Percentiles;
import carillon.bench.systems.Callers;
import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.Intake;
import carillon.bench.systems.Tasks;
import carillon.bench.systems.Wire;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.IntStream;

/**
 * Many callers create one task at a time, each due at once and delivered over HTTP to a receiver in
 * this process. The rate is of whole lives, from the first request to the last saved outcome; times
 * are from the start of a request to the arrival of its task.
 */
public final class Now implements Rounds<CarillonServer>, AutoCloseable {

  public static final String NAME = "now";

  private final Receiver receiver;
  private volatile Trips trips = new Trips(0);

  private Now() throws IOException {
    this.receiver =
        Receiver.start(
            payload -> {
              trips.arrived(Tasks.number(payload));
              return true;
            });
  }

  public static Now start() throws IOException {
    return new Now();
  }

  /** When each task left a caller and when it arrived, by its number. */
  private static final class Trips {

    private final AtomicInteger next = new AtomicInteger();
    private final AtomicLongArray began;
    private final AtomicLongArray took;

    Trips(int tasks) {
      this.began = new AtomicLongArray(tasks);
      this.took = new AtomicLongArray(tasks);
    }

    /** Returns the number of the next task; negative if there is none. */
    int next() {
      int number = next.getAndIncrement();
      return number < began.length() ? number : -1;
    }

    void begin(int number) {
      began.set(number, System.nanoTime());
    }

    /** Ignores all arrivals but the first. */
    void arrived(int number) {
      took.compareAndSet(number, 0, System.nanoTime() - began.get(number));
    }

    long[] nanos() {
      return IntStream.range(0, took.length()).mapToLong(took::get).toArray();
    }
  }

  @Override
  public void warmUp(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.progress().step("warming up");
    live(carillon, stage, stage.sizes().nowWarmUp());
  }

  @Override
  public Figures round(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    return live(carillon, stage, stage.sizes().now());
  }

  private Figures live(CarillonServer carillon, Stage stage, int tasks)
      throws IOException, SQLException, InterruptedException {
    Map<String, ?> target = Map.of("http", Map.of("url", receiver.url()));
    String type = carillon.newType(Map.of("target", target));
    carillon.store().settle();
    stage.progress().step("creating and running");
    Trips now = new Trips(tasks);
    trips = now;
    long before = carillon.finished();
    Meter meter = Meter.start(carillon);
    String from = carillon.now();
    long[] _ = Callers.together(Intake.CALLERS, () -> create(carillon, type, now));
    stage.await(carillon, before, tasks);
    Figures figures = meter.stop(tasks);
    return figures
        .with(Metric.RATE, tasks / carillon.secondsFrom(from, tasks))
        .with(Percentiles.ofNanos(now.nanos()).times());
  }

  private static long[] create(CarillonServer carillon, String type, Trips trips)
      throws IOException {
    try (Wire wire = carillon.wire(null)) {
      for (int number = trips.next(); number >= 0; number = trips.next()) {
        byte[] task = Tasks.numbered(type, number).getBytes(StandardCharsets.UTF_8);
        trips.begin(number);
        wire.post("/v1/tasks", "application/json", task);
      }
    }
    return new long[0];
  }

  @Override
  public void close() throws IOException {
    receiver.close();
  }
}
