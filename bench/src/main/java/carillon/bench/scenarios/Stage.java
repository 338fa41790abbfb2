package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.systems.Worker;
import java.io.IOException;
import java.sql.SQLException;

/** What every scenario needs: the sizes, the progress display, and how to wait. */
public record Stage(Sizes sizes, Progress progress) {

  /**
   * The tasks that have finished when the wait ends.
   *
   * @param tasks the number of finished tasks
   * @param of the number of expected tasks
   */
  record Finished(long tasks, long of, long seconds) {

    /** Adds a remark if the wait timed out. */
    Figures noteOn(Figures figures) {
      return tasks >= of
          ? figures
          : figures.note(
              "only %,d of %,d tasks had finished after %d s".formatted(tasks, of, seconds));
    }
  }

  /** Drains some unmeasured tasks, so that the JIT has compiled the code. */
  void warmUp(Worker worker) throws IOException, SQLException, InterruptedException {
    progress.step("warming up");
    long before = worker.finished();
    worker.load(sizes.warmUp());
    worker.release();
    await(worker, before, sizes.warmUp());
  }

  /** Waits until this many more tasks have finished, or the timeout. */
  Finished await(Worker worker, long before, long tasks) throws IOException, InterruptedException {
    long began = System.nanoTime();
    while (true) {
      long done = worker.finished() - before;
      progress.at(done, tasks);
      long nanos = System.nanoTime() - began;
      if (done >= tasks || nanos > sizes.timeout().toNanos()) {
        if (done <= 0) {
          throw new IOException("no task finished within " + sizes.timeout());
        }
        return new Finished(done, tasks, nanos / 1_000_000_000);
      }
      Thread.sleep(pauseMillis(done, tasks, nanos));
    }
  }

  /** Polls rarely, to disturb little, and more often towards the end, to notice it in time. */
  static long pauseMillis(long done, long tasks, long nanos) {
    double left = done == 0 ? 0 : nanos / 1e6 * (tasks - done) / done;
    return Math.clamp((long) (left / 4), 10, 200);
  }
}
