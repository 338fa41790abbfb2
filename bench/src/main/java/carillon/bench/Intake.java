package carillon.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.LongStream;

/** Tasks handed in over HTTP as fast as they are taken; none is due while this is measured. */
enum Intake implements Scenario<CarillonServer> {
  ONE_BY_ONE(64, 1, "/v1/tasks", "application/json"),
  IN_BATCHES(2, 5_000, "/v1/tasks/batch", "application/x-ndjson");

  private static final Duration WARM_UP = Duration.ofSeconds(5);

  private final int connections;
  private final int batch;
  private final String path;
  private final String mediaType;

  Intake(int connections, int batch, String path, String mediaType) {
    this.connections = connections;
    this.batch = batch;
    this.path = path;
    this.mediaType = mediaType;
  }

  @Override
  public Figures run(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    String type = carillon.newType(Map.of("target", Map.of("discard", Map.of())));
    String task = Tasks.task(type, ",\"delay\":\"1h\"");
    byte[] body =
        batch == 1 ? task.getBytes(StandardCharsets.UTF_8) : Tasks.lines(batch, _ -> task);
    stage.progress().step("warming up");
    send(carillon, body, WARM_UP);
    carillon.database().settle();

    stage.progress().step("handing in");
    Meter meter = Meter.start(carillon);
    long began = System.nanoTime();
    long[] took = send(carillon, body, stage.sizes().enqueuing());
    double seconds = (System.nanoTime() - began) / 1e9;
    long tasks = (long) took.length * batch;
    return meter.stop(tasks).with(Metric.RATE, tasks / seconds).with(Percentiles.ofNanos(took));
  }

  /** How long each request took, in nanoseconds. */
  private long[] send(CarillonServer carillon, byte[] body, Duration duration)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + duration.toNanos();
    Callable<long[]> sender =
        () -> {
          LongStream.Builder took = LongStream.builder();
          try (Wire wire = carillon.wire(null)) {
            for (long now = System.nanoTime(); now < end; ) {
              wire.post(path, mediaType, body);
              long then = System.nanoTime();
              took.add(then - now);
              now = then;
            }
          }
          return took.build().toArray();
        };
    LongStream all = LongStream.empty();
    for (long[] took : together(connections, sender)) {
      all = LongStream.concat(all, LongStream.of(took));
    }
    return all.toArray();
  }

  /** Does the same so many times at once. */
  static <T> List<T> together(int times, Callable<T> work)
      throws IOException, InterruptedException {
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<T> results = new ArrayList<>();
      for (Future<T> future : threads.invokeAll(Collections.nCopies(times, work))) {
        results.add(future.get());
      }
      return results;
    } catch (ExecutionException e) {
      throw new IOException(e.getCause());
    }
  }
}
