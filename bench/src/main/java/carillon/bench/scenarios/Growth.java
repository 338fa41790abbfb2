package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.systems.Contender;
import carillon.bench.systems.Worker;
import java.io.IOException;
import java.sql.SQLException;

/**
 * A drain next to many tasks that are due in the next weeks, alternating with a drain of the same
 * system without them. The latter is a second instance with its own store, because loaded tasks
 * cannot be removed without a trace.
 */
public final class Growth implements Scenario<Worker> {

  private final Contender.Start<? extends Worker> secondInstance;

  public Growth(Contender.Start<? extends Worker> secondInstance) {
    this.secondInstance = secondInstance;
  }

  @Override
  public Figures run(Worker worker, Stage stage)
      throws IOException, SQLException, InterruptedException {
    try (Worker alone = secondInstance.start()) {
      stage.progress().step("loading future tasks");
      worker.loadFuture(stage.sizes().future());
      // Loading must not affect the drains: the writes are flushed, and the first vacuum of all
      // rows
      // happens here. It also evicts the pages that a drain uses, so both warm up after it.
      worker.store().settle();
      worker.store().checkpoint();
      stage.warmUp(alone);
      stage.warmUp(worker);
      return Drain.alternate(
          () -> Drain.ALONE.round(alone, stage), () -> Drain.ALONE.round(worker, stage), stage);
    }
  }
}
