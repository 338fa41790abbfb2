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

/** Does the same many times on many threads, and how long that took. */
final class Calls {

  private Calls() {}

  /** One caller's own way to call, such as over a connection of its own. */
  interface Caller extends AutoCloseable {
    void call() throws Exception;

    @Override
    default void close() throws SQLException {}
  }

  /** A part of what is to be done. */
  interface Part<T> {
    void send(List<T> part) throws Exception;
  }

  /** Calls from several threads for a given time and returns the reply of the protocol. */
  static Map<String, ?> during(Duration duration, int callers, Callable<? extends Caller> caller)
      throws Exception {
    long end = System.nanoTime() + duration.toNanos();
    try (ExecutorService threads = Executors.newFixedThreadPool(callers)) {
      return timed(threads, callers, caller, () -> System.nanoTime() < end);
    }
  }

  /** Makes a number of calls from several virtual threads. */
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
      BooleanSupplier another)
      throws Exception {
    long began = System.nanoTime();
    Callable<long[]> work =
        () -> {
          LongStream.Builder took = LongStream.builder();
          try (Caller caller = newCaller.call()) {
            for (long now = System.nanoTime(); another.getAsBoolean(); ) {
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
  static <T> void inParts(List<T> all, int size, int threads, Part<T> part) throws Exception {
    List<Callable<Void>> parts = new ArrayList<>();
    for (int from = 0; from < all.size(); from += size) {
      List<T> some = all.subList(from, Math.min(from + size, all.size()));
      parts.add(
          () -> {
            part.send(some);
            return null;
          });
    }
    try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      results(pool, parts);
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

  /** The 50th, the 99th and the last of sorted values. */
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
