package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.systems.Worker;
import java.io.IOException;
import java.sql.SQLException;

/** What every scenario has at hand: how much to do, whom to tell, and how to wait. */
public record Stage(Sizes sizes, Progress progress) {

  /**
   * What has finished when the waiting ended.
   *
   * @param tasks how many
   * @param of how many it should have been
   */
  record Reached(long tasks, long of, long seconds) {

    /** Says so if time was up before all had finished. */
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

  /** Waits until this many more tasks have finished, or time is up. */
  Reached await(Worker worker, long before, long tasks) throws IOException, InterruptedException {
    long began = System.nanoTime();
    while (true) {
      long done = worker.finished() - before;
      progress.at(done, tasks);
      long nanos = System.nanoTime() - began;
      if (done >= tasks || nanos > sizes.patience().toNanos()) {
        if (done <= 0) {
          throw new IOException("nothing has finished within " + sizes.patience());
        }
        return new Reached(done, tasks, nanos / 1_000_000_000);
      }
      Thread.sleep(pauseMillis(done, tasks, nanos));
    }
  }

  /** Polls rarely, to disturb little, and more often towards the end, to see it in time. */
  static long pauseMillis(long done, long tasks, long nanos) {
    double left = done == 0 ? 0 : nanos / 1e6 * (tasks - done) / done;
    return Math.clamp((long) (left / 4), 10, 200);
  }
}
