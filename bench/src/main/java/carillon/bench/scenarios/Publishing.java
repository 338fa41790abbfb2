package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.Tasks;
import java.io.IOException;
import java.sql.SQLException;
import java.util.Map;

/** A drain that publishes each task to a topic of three partitions. */
public final class Publishing implements Scenario<CarillonServer> {

  public static final String NAME = "kafka";

  private static final Map<String, ?> TOPIC =
      Map.of("kafka", Map.of("topic", "bench", "complete", "onPublish"));

  @Override
  public Figures run(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.progress().step("warming up");
    publish(carillon, stage, TOPIC, stage.sizes().warmUp());
    return publish(carillon, stage, TOPIC, stage.sizes().drain());
  }

  /** Creates tasks of a paused type, resumes it, and waits until all have ended. */
  static Figures publish(CarillonServer carillon, Stage stage, Map<String, ?> target, int tasks)
      throws IOException, SQLException, InterruptedException {
    String type = carillon.newType(Map.of("target", target, "paused", true));
    carillon.submit(null, tasks, _ -> Tasks.task(type, ""));
    carillon.store().settle();
    stage.progress().step("publishing");
    long before = carillon.finished();
    Meter meter = Meter.start(carillon);
    carillon.release();
    stage.await(carillon, before, tasks);
    return meter.stop(tasks).with(Metric.RATE, tasks / carillon.seconds(tasks));
  }
}
