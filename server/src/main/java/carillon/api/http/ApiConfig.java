package carillon.api.http;

import carillon.model.target.BrokerName;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import javax.crypto.SecretKey;
import org.jspecify.annotations.Nullable;

/**
 * Where the API listens and what it is bounded by.
 *
 * @param bind address to listen on. Default 127.0.0.1.
 * @param port 0 picks a free one. Default 8080.
 * @param servesTasks false on a node that is only looked at: health, metrics and documents. Default
 *     true.
 * @param adminKeyHash SHA-256 of the bootstrap admin key, in hex
 * @param secret of the installation, the same on all nodes: cursors carry a MAC made with it
 * @param databaseRequests requests that use the database at once; no more than the pool has
 *     connections
 * @param stopGrace how long running requests may finish when stopped. Default 5 s.
 * @param maxConnectionsPerAddress how many connections one client address may have. Default 1,024.
 * @param brokers the clusters that the operator has registered. Default none.
 * @param version of this program, for people
 * @param metrics who may read the metrics, and where
 * @param dataDirectory below which rows of large batches wait on disk; null if there is none
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
   * Who may read the metrics, and where.
   *
   * @param port of its own; null means the API's. Default null.
   * @param key null means none is asked for. Default null.
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
