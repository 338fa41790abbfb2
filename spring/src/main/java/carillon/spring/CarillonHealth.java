package carillon.spring;

import carillon.client.Carillon;
import carillon.client.CarillonException;
import java.time.Duration;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** Checks whether the Carillon server accepts tasks. */
final class CarillonHealth extends AbstractHealthIndicator {

  private static final Duration TIMEOUT = Duration.ofSeconds(2);

  private final Carillon carillon;

  CarillonHealth(Carillon carillon) {
    super("Carillon health check failed");
    this.carillon = carillon;
  }

  @Override
  protected void doHealthCheck(Health.Builder health) {
    health.withDetail("url", carillon.url().toString());
    try {
      boolean isReady = carillon.isReady(TIMEOUT);
      health.status(isReady ? "UP" : "DOWN");
    } catch (CarillonException e) {
      health.down(e);
    }
  }
}
