package carillon.delivery.kafka;

import carillon.model.BrokerName;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A Kafka cluster as the operator registered it.
 *
 * @param settings of Kafka's own clients; checked, and never shown
 */
public record KafkaCluster(BrokerName name, Map<String, String> settings) {

  public static final String SERVERS = "bootstrap.servers";

  private static final Pattern SERVER =
      Pattern.compile("(\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9_.-]{1,253}):([0-9]{1,5})");

  /** What being published means here; another value would make the confirmation worth less. */
  private static final Map<String, Object> DECIDED =
      Map.of(
          "acks",
          "all",
          "enable.idempotence",
          true,
          "retries",
          Integer.MAX_VALUE,
          "max.in.flight.requests.per.connection",
          5,
          "delivery.timeout.ms",
          5_000,
          "request.timeout.ms",
          2_000,
          "max.block.ms",
          250,
          "key.serializer",
          ByteArraySerializer.class,
          "value.serializer",
          ByteArraySerializer.class);

  private static final Set<String> NOT_HERE =
      Set.of(
          "transactional.id",
          "transaction.timeout.ms",
          "transaction.two.phase.commit.enable",
          "interceptor.classes",
          "partitioner.class",
          "partitioner.ignore.keys",
          "metric.reporters",
          "default.api.timeout.ms",
          "bootstrap.controllers");

  /** Small enough for a lost broker to be seen soon, and to be found again soon. */
  private static final Map<String, Object> PREFERRED =
      Map.of(
          "batch.size", 64 * 1024,
          "linger.ms", 2,
          "buffer.memory", 64L * 1024 * 1024,
          "client.id", "carillon",
          "reconnect.backoff.ms", 50,
          "reconnect.backoff.max.ms", 500,
          "socket.connection.setup.timeout.ms", 2_000,
          "socket.connection.setup.timeout.max.ms", 3_000,
          "metadata.max.age.ms", 60_000);

  private static final Set<String> KNOWN = known();

  public KafkaCluster {
    settings = Map.copyOf(settings);
  }

  /**
   * The cluster, if these settings can be used.
   *
   * @throws IllegalArgumentException says in one line what cannot be
   */
  public static KafkaCluster of(String cluster, Map<String, String> settings) {
    var checked = new KafkaCluster(new BrokerName(BrokerName.Kind.KAFKA, cluster), settings);
    new TreeMap<>(settings).forEach(KafkaCluster::check);
    if (!settings.containsKey(SERVERS)) {
      throw new IllegalArgumentException(SERVERS + " is missing");
    }
    try {
      new ProducerConfig(checked.producer());
      new AdminClientConfig(checked.admin());
    } catch (ConfigException e) {
      throw new IllegalArgumentException(firstLine(e), e);
    }
    return checked;
  }

  private static void check(String key, String value) {
    if (DECIDED.containsKey(key) || NOT_HERE.contains(key)) {
      throw new IllegalArgumentException(key + " is decided by Carillon and cannot be set");
    }
    if (!KNOWN.contains(key)) {
      throw new IllegalArgumentException(
          "\"" + key.replaceAll("[^!-~]", "?") + "\" is not a setting of Kafka's clients");
    }
    if (key.equals(SERVERS)) {
      checkServers(value);
    }
    if (key.endsWith("store.location") && !Files.isReadable(Path.of(value))) {
      throw new IllegalArgumentException(key + ": no such file");
    }
  }

  private static void checkServers(String value) {
    for (String server : value.split(",", -1)) {
      var matcher = SERVER.matcher(server.strip());
      if (!matcher.matches() || Integer.parseInt(matcher.group(2)) > 65_535) {
        throw new IllegalArgumentException(
            "the servers must be HOST:PORT, with commas between them, or @FILE");
      }
    }
  }

  Map<String, Object> producer() {
    Map<String, Object> all = new HashMap<>(PREFERRED);
    all.putAll(settings);
    all.putAll(DECIDED);
    all.keySet().retainAll(ProducerConfig.configNames());
    return all;
  }

  Map<String, Object> admin() {
    Map<String, Object> all = new HashMap<>(PREFERRED);
    all.putAll(settings);
    all.put("request.timeout.ms", 2_000);
    all.put("default.api.timeout.ms", 2_000);
    all.keySet().retainAll(AdminClientConfig.configNames());
    return all;
  }

  private static Set<String> known() {
    Set<String> names = new HashSet<>(ProducerConfig.configNames());
    names.addAll(AdminClientConfig.configNames());
    return names;
  }

  private static String firstLine(ConfigException e) {
    return String.valueOf(e.getMessage()).lines().findFirst().orElse("cannot be used");
  }

  @Override
  public String toString() {
    return name.cluster() + "=***";
  }
}
