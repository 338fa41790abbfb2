package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.Tasks;
import java.io.IOException;
import java.sql.SQLException;
import java.util.Map;

/** A drain that delivers each task over HTTP to a receiver in this process. */
public final class Delivery implements Rounds<CarillonServer> {

  private final Receiver receiver;

  public Delivery(Receiver receiver) {
    this.receiver = receiver;
  }

  @Override
  public void warmUp(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.progress().step("warming up");
    deliver(carillon, stage, stage.sizes().httpWarmUp());
  }

  @Override
  public Figures round(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    Figures figures = deliver(carillon, stage, stage.sizes().http());
    return figures.with(carillon.between("started_at", "finished_at").times());
  }

  private Figures deliver(CarillonServer carillon, Stage stage, int tasks)
      throws IOException, SQLException, InterruptedException {
    Map<String, ?> target = Map.of("http", Map.of("url", receiver.url()));
    String type = carillon.newType(Map.of("target", target, "paused", true));
    carillon.submit(null, tasks, _ -> Tasks.task(type, ""));
    carillon.store().settle();
    stage.progress().step("delivering");
    long before = carillon.finished();
    Meter meter = Meter.start(carillon);
    carillon.release();
    stage.await(carillon, before, tasks);
    return meter.stop(tasks).with(Metric.RATE, tasks / carillon.seconds(tasks));
  }
}
