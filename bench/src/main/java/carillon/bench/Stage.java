package carillon.bench;

import java.io.IOException;
import java.sql.SQLException;

/** What every scenario has at hand: how much to do, whom to tell, and how to wait. */
record Stage(Sizes sizes, Progress progress) {

  private static final long PATIENCE_NANOS = 300_000_000_000L;

  /** Drains some tasks that nobody measures, so that the JIT has seen the code. */
  void warmUp(Contender contender) throws IOException, SQLException, InterruptedException {
    progress.step("warming up");
    long before = contender.finished();
    contender.load(sizes.warmUp());
    contender.release();
    await(contender, before, sizes.warmUp());
  }

  /** Waits until so many more than before have finished. */
  void await(Contender contender, long before, int tasks) throws IOException, InterruptedException {
    long end = System.nanoTime() + PATIENCE_NANOS;
    for (long done = 0; done < tasks; done = contender.finished() - before) {
      progress.at(done, tasks);
      if (System.nanoTime() > end) {
        throw new IOException("only " + done + " of " + tasks + " tasks have finished");
      }
      Thread.sleep(200);
    }
  }
}
