package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.Intake;
import carillon.bench.systems.RawLimit;
import java.io.IOException;
import java.sql.SQLException;

/** Produces the records of {@link Publishing} with the same client and settings, from memory. */
public record Producing(String servers) implements Scenario<RawLimit> {

  @Override
  public Figures run(RawLimit raw, Stage stage) throws IOException, SQLException {
    stage.progress().step("warming up");
    raw.produce(servers, stage.sizes().warmUp());
    stage.progress().step("producing");
    Meter meter = Meter.start(raw);
    Intake.Accepted accepted = raw.produce(servers, stage.sizes().drain());
    return meter.stop(accepted.tasks()).with(Metric.RATE, accepted.tasks() / accepted.seconds());
  }
}
