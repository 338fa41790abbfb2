package carillon.spring;

import carillon.client.Carillon;
import carillon.client.CarillonException;
import java.time.Duration;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** Whether the application's Carillon takes tasks, asked within two seconds. */
final class CarillonHealth extends AbstractHealthIndicator {

  private static final Duration PATIENCE = Duration.ofSeconds(2);

  private final Carillon carillon;

  CarillonHealth(Carillon carillon) {
    super("Carillon cannot be reached");
    this.carillon = carillon;
  }

  @Override
  protected void doHealthCheck(Health.Builder health) {
    health.withDetail("url", carillon.url().toString());
    try {
      boolean isReady = carillon.isReady(PATIENCE);
      health.status(isReady ? "UP" : "DOWN");
    } catch (CarillonException e) {
      health.down(e);
    }
  }
}
