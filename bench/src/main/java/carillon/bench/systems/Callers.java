package carillon.bench.systems;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.LongStream;

/** Runs the same work on many concurrent callers. */
public final class Callers {

  private Callers() {}

  /** Returns the times of all callers in one array. */
  public static long[] together(int callers, Callable<long[]> work)
      throws IOException, InterruptedException {
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<long[]> took = new ArrayList<>();
      for (Future<long[]> future : threads.invokeAll(Collections.nCopies(callers, work))) {
        took.add(future.get());
      }
      return took.stream().flatMapToLong(LongStream::of).toArray();
    } catch (ExecutionException e) {
      throw new IOException(e.getCause());
    }
  }
}
