package carillon.bench;

import java.io.IOException;
import java.sql.SQLException;

/** What {@link Delivery} does, by the same client and without a scheduler. */
final class Posts implements Scenario<RawLimit> {

  /** As many deliveries as a node runs at once by default. */
  private static final int CONCURRENCY = 512;

  @Override
  public Figures run(RawLimit raw, Stage stage)
      throws IOException, SQLException, InterruptedException {
    try (Receiver receiver = Receiver.start()) {
      stage.progress().step("warming up");
      raw.post(receiver.url(), stage.sizes().warmUp() / 2, CONCURRENCY);
      stage.progress().step("posting");
      return Drain.middleRound(() -> round(raw, stage, receiver), stage);
    }
  }

  private static Figures round(RawLimit raw, Stage stage, Receiver receiver)
      throws IOException, SQLException {
    Meter meter = Meter.start(raw);
    Intake.Taken taken = raw.post(receiver.url(), stage.sizes().http(), CONCURRENCY);
    Figures figures = meter.stop(taken.tasks()).with(Metric.RATE, taken.tasks() / taken.seconds());
    return taken.times() == null ? figures : figures.with(taken.times());
  }
}
