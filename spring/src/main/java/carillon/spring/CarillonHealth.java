package carillon.spring;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** Whether Carillon takes tasks, asked within two seconds. */
final class CarillonHealth extends AbstractHealthIndicator {

  private static final Duration PATIENCE = Duration.ofSeconds(2);

  private final URI url;
  private final HttpClient http;

  CarillonHealth(URI url) {
    super("Carillon cannot be reached");
    this.url = url;
    this.http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(PATIENCE)
            .build();
  }

  @Override
  protected void doHealthCheck(Health.Builder health) throws Exception {
    String base = url.toString().replaceFirst("/+$", "");
    HttpRequest ready =
        HttpRequest.newBuilder(URI.create(base + "/health/ready")).timeout(PATIENCE).build();
    int status = http.send(ready, BodyHandlers.discarding()).statusCode();
    health.status(status == 200 ? "UP" : "DOWN").withDetail("url", base);
    if (status != 200) {
      health.withDetail("answered", status);
    }
  }
}
