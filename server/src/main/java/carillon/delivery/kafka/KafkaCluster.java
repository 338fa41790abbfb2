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
 * A Kafka cluster as the operator registered it.
 *
 * @param settings of Kafka's own clients; checked, and never shown
 */
public record KafkaCluster(BrokerName name, Map<String, String> settings) {

  public static final String SERVERS = "bootstrap.servers";

  /** How long the producer tries, at most. */
  static final Duration DELIVERY = Duration.ofSeconds(5);

  private static final String MEMORY = "buffer.memory";

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
          (int) DELIVERY.toMillis(),
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
      checked.checkMemory(new ProducerConfig(checked.producer()));
      new AdminClientConfig(checked.admin());
      checked.tryOut();
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
   * Makes a producer of these settings: only that finds what does not go together. It talks to
   * nobody, so those whose login asks a third party are left alone.
   */
  private void tryOut() {
    String mechanism = settings.getOrDefault("sasl.mechanism", "GSSAPI");
    boolean isSasl = settings.getOrDefault("security.protocol", "").startsWith("SASL_");
    if (isSasl && !mechanism.equals("PLAIN") && !mechanism.startsWith("SCRAM-")) {
      return;
    }
    Map<String, Object> all = producer();
    all.put(SERVERS, "127.0.0.1:1"); // names that cannot be resolved now may be so later
    try {
      new KafkaProducer<byte[], byte[]>(all).close(Duration.ZERO);
    } catch (KafkaException e) {
      throw new IllegalArgumentException(reason(e), e);
    }
  }

  /** Not what Kafka says of a login: that may have parts of the password. */
  private static String reason(KafkaException e) {
    String said = "";
    for (Throwable why = e; why != null; why = why.getCause()) {
      if (why instanceof LoginException || why instanceof IllegalArgumentException) {
        return "sasl.jaas.config cannot be used";
      }
      if (why instanceof KafkaException) {
        said = String.valueOf(why.getMessage());
      }
    }
    return said.lines().findFirst().orElse("cannot be used");
  }

  /** How many bytes of messages may be under way: full batches take more than their records. */
  long mostBytes() {
    return new ProducerConfig(producer()).getLong(MEMORY) / 2;
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
