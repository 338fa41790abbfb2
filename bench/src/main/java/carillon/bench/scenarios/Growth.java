package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.systems.Contender;
import carillon.bench.systems.Worker;
import java.io.IOException;
import java.sql.SQLException;

/**
 * A drain next to many tasks that are due in the next weeks, alternating with a drain of the same
 * system without them. That is another one of its kind on a store of its own, because what was
 * loaded cannot be taken away again as if it had never been there.
 */
public final class Growth implements Scenario<Worker> {

  private final Contender.Start<? extends Worker> another;

  public Growth(Contender.Start<? extends Worker> another) {
    this.another = another;
  }

  @Override
  public Figures run(Worker worker, Stage stage)
      throws IOException, SQLException, InterruptedException {
    try (Worker alone = another.start()) {
      stage.progress().step("loading the future");
      worker.loadFuture(stage.sizes().future());
      // Long ago, as it were: who drains must not pay for what becomes of what was loaded, nor may
      // the first vacuum of all of it be taken for a long round. And it has driven from memory what
      // a drain works with: that is back when both have warmed up.
      worker.store().settle();
      worker.store().checkpoint();
      stage.warmUp(alone);
      stage.warmUp(worker);
      return Drain.inTurns(
          () -> Drain.ALONE.round(alone, stage), () -> Drain.ALONE.round(worker, stage), stage);
    }
  }
}
