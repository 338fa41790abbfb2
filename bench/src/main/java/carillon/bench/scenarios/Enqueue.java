package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.Intake;
import java.io.IOException;
import java.sql.SQLException;

/** Creates tasks as fast as they are accepted; none becomes due during the measurement. */
public enum Enqueue implements Scenario<Intake> {
  ONE_BY_ONE {
    @Override
    Intake.Accepted enqueue(Intake intake, Stage stage)
        throws IOException, SQLException, InterruptedException {
      return intake.oneByOne(stage.sizes().enqueuing());
    }
  },

  IN_BULK {
    @Override
    Intake.Accepted enqueue(Intake intake, Stage stage)
        throws IOException, SQLException, InterruptedException {
      return intake.inBulk(stage.sizes().bulk());
    }
  };

  abstract Intake.Accepted enqueue(Intake intake, Stage stage)
      throws IOException, SQLException, InterruptedException;

  @Override
  public Figures run(Intake intake, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.progress().step("warming up");
    if (this == ONE_BY_ONE) {
      intake.oneByOne(stage.sizes().enqueueWarmUp());
    } else {
      intake.inBulk(stage.sizes().bulk() / 4);
    }
    intake.store().settle();

    stage.progress().step("enqueuing");
    Meter meter = Meter.start(intake);
    Intake.Accepted accepted = enqueue(intake, stage);
    Figures figures =
        meter.stop(accepted.tasks()).with(Metric.RATE, accepted.tasks() / accepted.seconds());
    return accepted.times() == null ? figures : figures.with(accepted.times());
  }
}
