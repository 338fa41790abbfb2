package carillon.api.http;

import carillon.model.target.BrokerName;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import javax.crypto.SecretKey;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of the API.
 *
 * @param bind address to listen on. Default 127.0.0.1.
 * @param port 0 picks a free one. Default 8080.
 * @param servesTasks false on a node without the role api, which serves health and metrics. Default
 *     true.
 * @param adminKeyHash SHA-256 of the bootstrap admin key, in hex
 * @param secret of the installation, the same on all nodes: it signs cursors
 * @param databaseRequests maximum concurrent requests to the database; at most the size of the
 *     connection pool
 * @param stopGrace how long running requests may take after a stop. Default 5 s.
 * @param maxConnectionsPerAddress maximum connections of one client address. Default 1,024.
 * @param brokers the registered Kafka and RabbitMQ clusters. Default none.
 * @param version of Carillon, for display
 * @param metrics the port and key of the metrics
 * @param dataDirectory holds temporary files of large batches; null if there is none
 */
public record ApiConfig(
    String bind,
    int port,
    boolean servesTasks,
    String adminKeyHash,
    SecretKey secret,
    int databaseRequests,
    Duration stopGrace,
    int maxConnectionsPerAddress,
    Set<BrokerName> brokers,
    String version,
    Metrics metrics,
    @Nullable Path dataDirectory) {

  /**
   * Access to the metrics.
   *
   * @param port a separate port; null for the port of the API. Default null.
   * @param key required to read them; null for public metrics. Default null.
   */
  public record Metrics(@Nullable Integer port, @Nullable String key) {

    public static final Metrics OPEN = new Metrics(null, null);

    @Override
    public String toString() {
      return "Metrics[port=" + port + "]";
    }
  }

  public ApiConfig {
    brokers = Set.copyOf(brokers);
    if (databaseRequests < 1) {
      throw new IllegalArgumentException(
          "databaseRequests must be above zero, was " + databaseRequests);
    }
  }

  public ApiConfig withPort(int other) {
    return new ApiConfig(
        bind,
        other,
        servesTasks,
        adminKeyHash,
        secret,
        databaseRequests,
        stopGrace,
        maxConnectionsPerAddress,
        brokers,
        version,
        metrics,
        dataDirectory);
  }
}
