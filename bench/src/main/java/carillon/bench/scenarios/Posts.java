package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.Intake;
import carillon.bench.systems.RawLimit;
import java.io.IOException;
import java.sql.SQLException;

/** What {@link Delivery} does, by the same client and without a scheduler. */
public final class Posts implements Rounds<RawLimit> {

  /** As many deliveries as a node runs at once by default. */
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
    Intake.Taken taken = raw.post(receiver.url(), stage.sizes().http(), CONCURRENCY);
    Figures figures = meter.stop(taken.tasks()).with(Metric.RATE, taken.tasks() / taken.seconds());
    return taken.times() == null ? figures : figures.with(taken.times());
  }
}
