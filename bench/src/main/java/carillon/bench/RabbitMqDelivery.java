package carillon.bench;

import java.io.IOException;
import java.sql.SQLException;
import java.util.Map;

/**
 * A drain that publishes each task to a quorum queue, right after a plain producer did the same:
 * the ratio is to that one's rate.
 */
record RabbitMqDelivery(RabbitMq rabbit) implements Scenario<CarillonServer> {

  @Override
  public Figures run(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.progress().step("warming up");
    publish(carillon, stage, stage.sizes().warmUp() / 4);
    double _ = rabbit.plainRate(stage.sizes().warmUp() / 4);
    stage.progress().step("plain producer");
    double plain = rabbit.plainRate(stage.sizes().http());
    Figures figures = publish(carillon, stage, stage.sizes().http());
    Double rate = figures.get(Metric.RATE);
    return figures
        .with(Metric.RATIO, rate == null ? Double.NaN : rate / plain)
        .with(carillon.between("started_at", "finished_at").times())
        .note("a plain producer with confirms for every 1,000: %,.0f messages/s".formatted(plain));
  }

  private static Figures publish(CarillonServer carillon, Stage stage, int tasks)
      throws IOException, SQLException, InterruptedException {
    Map<String, ?> target =
        Map.of("rabbitmq", Map.of("routingKey", RabbitMq.QUEUE, "complete", "onPublish"));
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
