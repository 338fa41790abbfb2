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
 * Everything that can be set, checked and complete. Made by {@link ConfigLoader}; the keys are in
 * {@link Setting}.
 *
 * @param node who this node is and what it does
 * @param http where it listens
 * @param database where the tasks are kept
 * @param engine how hard it works
 * @param access who may call it and whom it may call
 * @param log what it writes to stderr
 * @param alert who hears of dead letters that grow
 * @param archive what becomes of dead letters that nobody wants
 * @param brokers whom tasks may be published to
 * @param limits what every tenant may have, unless it has limits of its own
 * @param metrics who may read the metrics, and where
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

  /** What a node does; each role scales on its own. */
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
   * Who this node is.
   *
   * @param id its name in the cluster. Default: host name + random.
   * @param roles what it does. Default api and engine.
   * @param lease how long it is believed alive without a heartbeat. Default 10 s.
   * @param dataDir embedded database, generated secrets and rows of large batches. Default {@code
   *     ./data}.
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
   * Who may read the metrics, and where.
   *
   * @param port of its own, also for health; 0 picks a free one, null means none. Default null.
   * @param key what a scrape must send; null means nothing. Default null.
   */
  public record Metrics(@Nullable Integer port, @Nullable String key) {

    @Override
    public String toString() {
      return "Metrics[port=" + port + ", key=" + (key == null ? "null" : "***") + "]";
    }
  }

  /**
   * Where the tasks are kept.
   *
   * @param url an existing server; null means embedded. Default null.
   * @param poolSize connections that the API and the engine share. Default 14.
   * @param pooler what is between us and it. Default none.
   */
  public record Database(@Nullable DatabaseUrl url, int poolSize, Pooler pooler) {
    public boolean isEmbedded() {
      return url == null;
    }
  }

  /**
   * How hard the engine works.
   *
   * @param concurrency deliveries that may run at once on this node. Default 512.
   * @param drainTimeout how long those may finish on shutdown. Default 10 s.
   * @param retention how long ended tasks are kept. Default 30 d.
   * @param poisonCrashes after this many crashes a task is dead. Default 3.
   */
  public record Engine(
      int concurrency, Duration drainTimeout, Duration retention, int poisonCrashes) {}

  /**
   * Who may call us, and whom we may call.
   *
   * @param adminKey the bootstrap admin key as given; null means {@link AdminKey} keeps one.
   *     Default null.
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
   * What is written to stderr.
   *
   * @param format for people or for machines. Default text.
   * @param level the least serious level of our own lines. Default info.
   */
  public record Log(LogFormat format, String level) {}

  /**
   * Who hears of dead letters that grow, for tenants that say nothing else.
   *
   * @param url gets a POST; null means nobody hears of it. Default null.
   * @param deaths of one kind that are worth it. Default 10.
   * @param within the time in which they must have died. Default 5 min.
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
   * What becomes of dead letters that nobody wants.
   *
   * @param ttl how long they are kept in the database. Default 30 d.
   * @param directory where they are written to then. Default {@code archive} in the data directory.
   */
  public record Archive(Duration ttl, Path directory) {}

  /**
   * Whom tasks may be published to.
   *
   * @param kafka clusters of Kafka. Default none.
   * @param rabbitmq clusters of RabbitMQ. Default none.
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
