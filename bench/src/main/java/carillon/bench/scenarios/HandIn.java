package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.Intake;
import java.io.IOException;
import java.sql.SQLException;

/** Tasks handed in as fast as they are taken; none is due while this is measured. */
public enum HandIn implements Scenario<Intake> {
  ONE_BY_ONE {
    @Override
    Intake.Taken handIn(Intake intake, Stage stage)
        throws IOException, SQLException, InterruptedException {
      return intake.oneByOne(stage.sizes().enqueuing());
    }
  },

  IN_BULK {
    @Override
    Intake.Taken handIn(Intake intake, Stage stage)
        throws IOException, SQLException, InterruptedException {
      return intake.inBulk(stage.sizes().bulk());
    }
  };

  abstract Intake.Taken handIn(Intake intake, Stage stage)
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

    stage.progress().step("handing in");
    Meter meter = Meter.start(intake);
    Intake.Taken taken = handIn(intake, stage);
    Figures figures = meter.stop(taken.tasks()).with(Metric.RATE, taken.tasks() / taken.seconds());
    return taken.times() == null ? figures : figures.with(taken.times());
  }
}
