package carillon.bench.peers;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** Makes many calls on many threads and measures how long they take. */
final class Calls {

  private Calls() {}

  /** One concurrent caller, for example with its own connection. */
  interface Caller extends AutoCloseable {
    void call() throws Exception;

    @Override
    default void close() throws SQLException {}
  }

  /** Sends one batch. */
  interface Batch<T> {
    void send(List<T> batch) throws Exception;
  }

  /** Calls from several threads for a given time and returns the response for the protocol. */
  static Map<String, ?> during(Duration duration, int callers, Callable<? extends Caller> caller)
      throws Exception {
    long end = System.nanoTime() + duration.toNanos();
    try (ExecutorService threads = Executors.newFixedThreadPool(callers)) {
      return timed(threads, callers, caller, () -> System.nanoTime() < end);
    }
  }

  /** Makes a fixed number of calls from several virtual threads. */
  static Map<String, ?> times(int calls, int callers, Callable<? extends Caller> caller)
      throws Exception {
    AtomicInteger left = new AtomicInteger(calls);
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      return timed(threads, callers, caller, () -> left.getAndDecrement() > 0);
    }
  }

  private static Map<String, ?> timed(
      ExecutorService threads,
      int callers,
      Callable<? extends Caller> newCaller,
      BooleanSupplier hasMore)
      throws Exception {
    long began = System.nanoTime();
    Callable<long[]> work =
        () -> {
          LongStream.Builder took = LongStream.builder();
          try (Caller caller = newCaller.call()) {
            for (long now = System.nanoTime(); hasMore.getAsBoolean(); ) {
              caller.call();
              long then = System.nanoTime();
              took.add(then - now);
              now = then;
            }
          }
          return took.build().toArray();
        };
    double[] millis =
        results(threads, IntStream.range(0, callers).mapToObj(_ -> work).toList()).stream()
            .flatMapToLong(Arrays::stream)
            .sorted()
            .mapToDouble(nanos -> nanos / 1e6)
            .toArray();
    double seconds = (System.nanoTime() - began) / 1e9;
    return Map.of("tasks", millis.length, "seconds", seconds, "millis", percentiles(millis));
  }

  /** Sends everything in batches from several threads. */
  static <T> void inBatches(List<T> all, int size, int threads, Batch<T> batch) throws Exception {
    List<Callable<Void>> batches = new ArrayList<>();
    for (int from = 0; from < all.size(); from += size) {
      List<T> some = all.subList(from, Math.min(from + size, all.size()));
      batches.add(
          () -> {
            batch.send(some);
            return null;
          });
    }
    try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      results(pool, batches);
    }
  }

  private static <T> List<T> results(ExecutorService threads, List<Callable<T>> work)
      throws Exception {
    List<T> results = new ArrayList<>();
    for (Future<T> future : threads.invokeAll(work)) {
      results.add(future.get());
    }
    return results;
  }

  /** The p50, the p99 and the maximum of sorted values. */
  static double[] percentiles(double[] sorted) {
    if (sorted.length == 0) {
      throw new IllegalStateException("nothing has run");
    }
    return new double[] {at(sorted, 0.5), at(sorted, 0.99), sorted[sorted.length - 1]};
  }

  private static double at(double[] sorted, double share) {
    return sorted[Math.max(0, (int) Math.ceil(share * sorted.length) - 1)];
  }
}
