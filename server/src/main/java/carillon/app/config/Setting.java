package carillon.app.config;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Every key of the configuration. The flag is {@code --key}, the variable {@code CARILLON_KEY}. */
public enum Setting {
  PORT("port", "8080", "PORT", "API, dashboard and metrics; 0 picks a free port and prints it"),
  BIND("bind", "127.0.0.1", "ADDRESS", "address to listen on"),
  MAX_CONNECTIONS_PER_ADDRESS(
      "max-connections-per-address",
      "1024",
      "N",
      "maximum connections per client address, of 8192 in total; raise it if all clients come"
          + " through a proxy"),
  METRICS_PORT(
      "metrics-port",
      null,
      "PORT",
      "separate port for /metrics and /health; 0 picks a free port and prints it"),
  METRICS_KEY(
      "metrics-key",
      null,
      "KEY",
      "key required for /metrics, at least 32 characters; default: none"),
  DATABASE_URL(
      "database-url",
      null,
      "URL",
      "postgresql://user:password@host:port/db or a JDBC URL; default: an embedded"
          + " PostgreSQL"),
  POOLER(
      "pooler",
      "none",
      "none|transaction",
      "connection pooler in front of PostgreSQL; use transaction for PgBouncer in transaction"
          + " mode"),
  DATA_DIR(
      "data-dir",
      "./data",
      "DIR",
      "directory for the embedded database, generated secrets and large batches"),
  ROLES("roles", "api,engine", "LIST", "roles of this node: api, engine or both"),
  NODE_ID("node-id", null, "NAME", "node name; default: host name plus a random suffix"),
  NODE_LEASE(
      "node-lease",
      "10s",
      "DURATION",
      "node lease: time without a heartbeat after which the node is considered dead"),
  ADMIN_KEY(
      "admin-key",
      null,
      "KEY",
      "bootstrap admin key, at least 32 characters; default: generated once and stored in the data"
          + " directory"),
  ALLOW_TARGETS(
      "allow-targets",
      null,
      "LIST",
      "CIDRs and host names that HTTP targets may reach besides public addresses. Default:"
          + " none, or loopback with the embedded database and a loopback --bind"),
  KAFKA(
      "kafka",
      null,
      "NAME=HOST:PORT,...|NAME=@FILE",
      "Kafka cluster for tasks to be published to; FILE contains its client settings. Repeatable"),
  RABBITMQ(
      "rabbitmq",
      null,
      "NAME=amqp[s]://USER:PASSWORD@HOST/VHOST|NAME=@FILE",
      "RabbitMQ cluster for tasks to be published to. Repeatable"),
  CONCURRENCY("concurrency", "512", "N", "maximum concurrent HTTP deliveries on this node"),
  DRAIN_TIMEOUT(
      "drain-timeout", "10s", "DURATION", "time for running deliveries to finish on shutdown"),
  RETENTION(
      "retention", "30d", "DURATION", "retention of finished tasks, counted from their due day"),
  DEAD_LETTER_TTL("dead-letter-ttl", "30d", "DURATION", "time before dead letters are archived"),
  ARCHIVE_DIR(
      "archive-dir",
      null,
      "DIR",
      "directory for archived dead letters; default: archive in the data directory"),
  POISON_CRASHES(
      "poison-crashes",
      "3",
      "N",
      "dead-letter a task after it crashed this many nodes (minimum 2)"),
  ALERT_URL("alert-url", null, "URL", "webhook for dead-letter alerts; tenants can set their own"),
  ALERT_DEATHS("alert-deaths", "10", "N", "dead letters of one kind that trigger an alert"),
  ALERT_WITHIN("alert-within", "5m", "DURATION", "time window for --alert-deaths"),
  POOL_SIZE(
      "pool-size",
      "14",
      "N",
      "database connections for API and engine (a node uses 7 more, plus 1 per broker cluster)"),
  MAX_TYPES("max-types", "1000", "N", "maximum task types per tenant"),
  MAX_LANES(
      "max-lanes",
      "10000",
      "N",
      "maximum lanes per tenant: one for each type, priority, slice and kind of target"),
  MAX_SCHEDULES("max-schedules", "10000", "N", "maximum schedules per tenant"),
  MAX_KEYS(
      "max-keys",
      "1000",
      "N",
      "maximum API keys per tenant, not counting revoked and expired ones"),
  LOG_FORMAT("log-format", "text", "text|json", "log format"),
  LOG_LEVEL("log-level", "info", "LEVEL", "log level: error, warn, info, debug or trace");

  /** For a value in a file, so that a secret appears in no process list and no image. */
  static final String FILE_SUFFIX = "-file";

  final String key;
  final @Nullable String defaultText;
  final String label;
  final String meaning;

  Setting(String key, @Nullable String defaultText, String label, String meaning) {
    this.key = key;
    this.defaultText = defaultText;
    this.label = label;
    this.meaning = meaning;
  }

  /** Secrets are never shown, and may be given as the name of a file. */
  boolean isSecret() {
    // The URL of a webhook is often its only credential.
    return this == DATABASE_URL
        || this == ADMIN_KEY
        || this == METRICS_KEY
        || this == ALERT_URL
        || isNamedList();
  }

  /** Whether it has several values, each {@code NAME=...}, separated by spaces. */
  boolean isNamedList() {
    return this == KAFKA || this == RABBITMQ;
  }

  String flag() {
    return "--" + key;
  }

  String variable() {
    return variableOf(key);
  }

  static String variableOf(String key) {
    return "CARILLON_" + key.toUpperCase(Locale.ROOT).replace('-', '_');
  }

  static Optional<Setting> of(String key) {
    return Arrays.stream(values()).filter(setting -> setting.key.equals(key)).findFirst();
  }

  static List<String> keys() {
    return Arrays.stream(values()).map(setting -> setting.key).toList();
  }
}
