package carillon.delivery.kafka;

import carillon.model.target.BrokerName;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import javax.security.auth.login.LoginException;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A Kafka cluster as the operator configured it.
 *
 * @param settings of Kafka's clients; validated, and never shown
 */
public record KafkaCluster(BrokerName name, Map<String, String> settings) {

  public static final String SERVERS = "bootstrap.servers";

  static final Duration DELIVERY_TIMEOUT = Duration.ofSeconds(5);

  private static final String MEMORY = "buffer.memory";

  private static final Pattern SERVER =
      Pattern.compile("(\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9_.-]{1,253}):([0-9]{1,5})");

  /** Define what "published" means; other values would weaken the confirmation. */
  private static final Map<String, Object> FIXED =
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
          (int) DELIVERY_TIMEOUT.toMillis(),
          "request.timeout.ms",
          2_000,
          "max.block.ms",
          250,
          "key.serializer",
          ByteArraySerializer.class,
          "value.serializer",
          ByteArraySerializer.class);

  private static final Set<String> UNSUPPORTED =
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

  /** Timeouts are short so that a lost broker is noticed, and reconnected to, quickly. */
  private static final Map<String, Object> DEFAULTS =
      Map.of(
          "batch.size",
          64 * 1024,
          "linger.ms",
          2,
          MEMORY,
          64L * 1024 * 1024,
          "client.id",
          "carillon",
          "reconnect.backoff.ms",
          50,
          "reconnect.backoff.max.ms",
          500,
          "socket.connection.setup.timeout.ms",
          2_000,
          "socket.connection.setup.timeout.max.ms",
          3_000,
          "metadata.max.age.ms",
          60_000);

  private static final Set<String> KNOWN = known();

  public KafkaCluster {
    settings = Map.copyOf(settings);
  }

  /**
   * Validates the settings.
   *
   * @throws IllegalArgumentException with a message of one line if a setting is invalid
   */
  public static KafkaCluster of(String cluster, Map<String, String> settings) {
    var checked = new KafkaCluster(new BrokerName(BrokerName.Kind.KAFKA, cluster), settings);
    new TreeMap<>(settings).forEach(KafkaCluster::check);
    if (!settings.containsKey(SERVERS)) {
      throw new IllegalArgumentException(SERVERS + " is missing");
    }
    try {
      checked.checkMemory(new ProducerConfig(checked.producer()));
      new AdminClientConfig(checked.admin());
      checked.createTrialProducer();
    } catch (ConfigException e) {
      throw new IllegalArgumentException(firstLine(e), e);
    }
    return checked;
  }

  private void checkMemory(ProducerConfig config) {
    int message = config.getInt("max.request.size");
    if (config.getLong(MEMORY) < Math.max(message, config.getInt("batch.size"))) {
      throw new IllegalArgumentException(
          MEMORY + " must be at least max.request.size (" + message + ") and batch.size");
    }
  }

  /**
   * Only creating a producer finds settings that conflict. It does not use the network, so clusters
   * whose login needs a third party are skipped.
   */
  private void createTrialProducer() {
    String mechanism = settings.getOrDefault("sasl.mechanism", "GSSAPI");
    boolean isSasl = settings.getOrDefault("security.protocol", "").startsWith("SASL_");
    if (isSasl && !mechanism.equals("PLAIN") && !mechanism.startsWith("SCRAM-")) {
      return;
    }
    Map<String, Object> all = producer();
    all.put(SERVERS, "127.0.0.1:1"); // a name that cannot be resolved now may be resolvable later
    try {
      new KafkaProducer<byte[], byte[]>(all).close(Duration.ZERO);
    } catch (KafkaException e) {
      throw new IllegalArgumentException(reason(e), e);
    }
  }

  /** Hides Kafka's message about a failed login, which may contain parts of the password. */
  private static String reason(KafkaException e) {
    String message = "";
    for (Throwable why = e; why != null; why = why.getCause()) {
      if (why instanceof LoginException || why instanceof IllegalArgumentException) {
        return "sasl.jaas.config cannot be used";
      }
      if (why instanceof KafkaException) {
        message = String.valueOf(why.getMessage());
      }
    }
    return message.lines().findFirst().orElse("cannot be used");
  }

  /** Half of the producer's buffer, because full batches take more memory than their records. */
  long maxUnconfirmedBytes() {
    return new ProducerConfig(producer()).getLong(MEMORY) / 2;
  }

  private static void check(String key, String value) {
    if (FIXED.containsKey(key) || UNSUPPORTED.contains(key)) {
      throw new IllegalArgumentException(key + " is set by Carillon and cannot be changed");
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
            "the servers must be HOST:PORT, separated by commas, or @FILE");
      }
    }
  }

  Map<String, Object> producer() {
    Map<String, Object> all = new HashMap<>(DEFAULTS);
    all.putAll(settings);
    all.putAll(FIXED);
    all.keySet().retainAll(ProducerConfig.configNames());
    return all;
  }

  Map<String, Object> admin() {
    Map<String, Object> all = new HashMap<>(DEFAULTS);
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
