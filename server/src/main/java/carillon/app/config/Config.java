package carillon.app.config;

import carillon.delivery.kafka.KafkaCluster;
import carillon.delivery.rabbitmq.RabbitCluster;
import carillon.model.target.BrokerName;
import carillon.model.target.Target;
import carillon.model.task.AlertRule;
import carillon.store.catalog.TenantLimits;
import carillon.store.db.Pooler;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The complete and validated configuration. {@link ConfigLoader} creates it; the keys are in {@link
 * Setting}.
 *
 * @param node identity and roles of this node
 * @param http where the API listens
 * @param database the PostgreSQL server
 * @param engine concurrency and retention
 * @param access the admin key, and the addresses that targets may have
 * @param log format and level of log lines
 * @param alert when and where alerts about dead letters are sent
 * @param archive when and where dead letters are archived
 * @param brokers the broker clusters that tasks may be published to
 * @param limits the limits of tenants without their own
 * @param metrics port and key of the metrics
 * @param file the configuration file that was read; null if there was none
 */
public record Config(
    Node node,
    Http http,
    Database database,
    Engine engine,
    Access access,
    Log log,
    Alert alert,
    Archive archive,
    Brokers brokers,
    TenantLimits.Installation limits,
    Metrics metrics,
    @Nullable Path file) {

  /** The roles of a node; each scales independently. */
  public enum Role {
    API,
    ENGINE
  }

  /** How log lines are written. */
  public enum LogFormat {
    TEXT,
    JSON
  }

  /**
   * Identity and roles of this node.
   *
   * @param id its name in the cluster. Default: host name + random.
   * @param roles Default api and engine.
   * @param lease how long it counts as alive without a heartbeat. Default 10 s.
   * @param dataDir embedded database, generated secrets and temporary files of large batches.
   *     Default {@code ./data}.
   */
  public record Node(String id, Set<Role> roles, Duration lease, Path dataDir) {

    private static final Duration MIN_STUCK = Duration.ofSeconds(20);

    public Node {
      roles = Set.copyOf(roles);
    }

    public boolean hasRole(Role role) {
      return roles.contains(role);
    }

    /**
     * After this long in one pass a loop is stuck: longer than any pass waits for a database that
     * does not respond.
     */
    public Duration stuckAfter() {
      Duration twice = lease.multipliedBy(2);
      return twice.compareTo(MIN_STUCK) > 0 ? twice : MIN_STUCK;
    }
  }

  /**
   * Where the API, the dashboard and the metrics are.
   *
   * @param bind address to listen on. Default 127.0.0.1.
   * @param port 0 picks a free one. Default 8080.
   * @param maxConnectionsPerAddress connections that one client address may have. Default 1024.
   */
  public record Http(String bind, int port, int maxConnectionsPerAddress) {

    /**
     * An address that people can type into a browser, which a wildcard is not. The zone of an IPv6
     * address, such as {@code fe80::1%eth0}, is escaped in a URL.
     */
    public URI url(int port) {
      String address = bind.replace("%", "%25");
      String host =
          switch (address) {
            case "0.0.0.0", "::", "[::]" -> "localhost";
            default ->
                address.contains(":") && !address.startsWith("[") ? "[" + address + "]" : address;
          };
      return URI.create("http://" + host + ":" + port);
    }

    /**
     * Whether only this machine can connect. A name that cannot be resolved here counts as open.
     */
    public boolean isLoopback() {
      try {
        return InetAddress.getByName(bind).isLoopbackAddress();
      } catch (UnknownHostException _) {
        return false;
      }
    }
  }

  /**
   * Port and key of the metrics.
   *
   * @param port a separate port, also for health; 0 picks a free one, null means none. Default
   *     null.
   * @param key the key that a scrape must send; null if none is required. Default null.
   */
  public record Metrics(@Nullable Integer port, @Nullable String key) {

    @Override
    public String toString() {
      return "Metrics[port=" + port + ", key=" + (key == null ? "null" : "***") + "]";
    }
  }

  /**
   * The PostgreSQL server.
   *
   * @param url an existing server; null means embedded. Default null.
   * @param poolSize connections that the API and the engine share. Default 14.
   * @param pooler the pooler in front of it. Default none.
   */
  public record Database(@Nullable DatabaseUrl url, int poolSize, Pooler pooler) {
    public boolean isEmbedded() {
      return url == null;
    }
  }

  /**
   * Settings of the engine.
   *
   * @param concurrency maximum concurrent deliveries on this node. Default 512.
   * @param drainTimeout how long they may take to finish on shutdown. Default 10 s.
   * @param retention how long ended tasks are kept. Default 30 d.
   * @param poisonCrashes after this many crashes a task is dead. Default 3.
   */
  public record Engine(
      int concurrency, Duration drainTimeout, Duration retention, int poisonCrashes) {}

  /**
   * The admin key, and the addresses that targets may have.
   *
   * @param adminKey the configured admin key; null means {@link AdminKey} generates one. Default
   *     null.
   * @param allowTargets CIDRs and host names that HTTP targets may reach beyond public addresses.
   *     Default loopback while the database is embedded and the API is bound to loopback, else
   *     none.
   */
  public record Access(@Nullable String adminKey, List<String> allowTargets) {
    public Access {
      allowTargets = List.copyOf(allowTargets);
    }

    @Override
    public String toString() {
      return "Access[adminKey="
          + (adminKey == null ? "null" : "***")
          + ", allowTargets="
          + allowTargets
          + "]";
    }
  }

  /**
   * Format and level of log lines.
   *
   * @param format Default text.
   * @param level the lowest level of Carillon's own lines. Default info.
   */
  public record Log(LogFormat format, String level) {}

  /**
   * Alerts about dead letters, for tenants without their own setting.
   *
   * @param url gets a POST; null means no alerts. Default null.
   * @param deaths how many deaths of one group raise an alert. Default 10.
   * @param within the time window for the deaths. Default 5 min.
   */
  public record Alert(@Nullable String url, int deaths, Duration within) {

    public @Nullable AlertRule rule() {
      return url == null
          ? null
          : new AlertRule(new Target.Http(url, "POST", Map.of(), null, null), deaths, within);
    }

    @Override
    public String toString() {
      return "Alert[url="
          + (url == null ? "null" : "***")
          + ", deaths="
          + deaths
          + ", within="
          + within
          + "]";
    }
  }

  /**
   * When and where dead letters are archived.
   *
   * @param ttl how long they stay in the database. Default 30 d.
   * @param directory where they are archived. Default {@code archive} in the data directory.
   */
  public record Archive(Duration ttl, Path directory) {}

  /**
   * The broker clusters that tasks may be published to.
   *
   * @param kafka Default none.
   * @param rabbitmq Default none.
   */
  public record Brokers(List<KafkaCluster> kafka, List<RabbitCluster> rabbitmq) {
    public Brokers {
      kafka = List.copyOf(kafka);
      rabbitmq = List.copyOf(rabbitmq);
    }

    /** The clusters that tasks may name, also on nodes that publish nothing themselves. */
    public Set<BrokerName> names() {
      Set<BrokerName> names = new TreeSet<>();
      kafka.forEach(cluster -> names.add(cluster.name()));
      rabbitmq.forEach(
          cluster -> names.add(new BrokerName(BrokerName.Kind.RABBITMQ, cluster.name())));
      return names;
    }
  }
}
