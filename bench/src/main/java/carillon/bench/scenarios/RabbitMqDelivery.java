package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.RabbitMq;
import java.io.IOException;
import java.sql.SQLException;
import java.util.Map;

/**
 * A drain that publishes each task to a quorum queue. The ratio is to the rate of a plain producer
 * right before it.
 */
public record RabbitMqDelivery(RabbitMq rabbit) implements Scenario<CarillonServer> {

  private static final Map<String, ?> QUEUE =
      Map.of("rabbitmq", Map.of("routingKey", RabbitMq.QUEUE, "complete", "onPublish"));

  @Override
  public Figures run(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.progress().step("warming up");
    Publishing.publish(carillon, stage, QUEUE, stage.sizes().warmUp() / 4);
    double _ = rabbit.plainRate(stage.sizes().warmUp() / 4);
    stage.progress().step("plain producer");
    double plain = rabbit.plainRate(stage.sizes().http());
    Figures figures = Publishing.publish(carillon, stage, QUEUE, stage.sizes().http());
    Double rate = figures.get(Metric.RATE);
    return figures
        .with(Metric.RATIO, rate == null ? Double.NaN : rate / plain)
        .with(carillon.between("started_at", "finished_at").times())
        .note(
            "plain producer with confirms for every 1,000 messages: %,.0f messages/s"
                .formatted(plain));
  }
}
