package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.Intake;
import carillon.bench.systems.RawLimit;
import java.io.IOException;
import java.sql.SQLException;

/** Makes the requests of {@link Delivery} with the same client, but without a scheduler. */
public final class Posts implements Rounds<RawLimit> {

  /** A node's default concurrency. */
  private static final int CONCURRENCY = 512;

  private final Receiver receiver;

  public Posts(Receiver receiver) {
    this.receiver = receiver;
  }

  @Override
  public void warmUp(RawLimit raw, Stage stage) throws IOException {
    stage.progress().step("warming up");
    raw.post(receiver.url(), stage.sizes().httpWarmUp(), CONCURRENCY);
  }

  @Override
  public Figures round(RawLimit raw, Stage stage) throws IOException, SQLException {
    stage.progress().step("posting");
    Meter meter = Meter.start(raw);
    Intake.Accepted accepted = raw.post(receiver.url(), stage.sizes().http(), CONCURRENCY);
    Figures figures =
        meter.stop(accepted.tasks()).with(Metric.RATE, accepted.tasks() / accepted.seconds());
    return accepted.times() == null ? figures : figures.with(accepted.times());
  }
}
