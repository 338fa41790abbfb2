package carillon.app.config;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Every key of the configuration. The flag is {@code --key}, the variable {@code CARILLON_KEY}. */
public enum Setting {
  PORT("port", "8080", "PORT", "API, dashboard and metrics; 0 picks a free one and prints it"),
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
      "separate port for /metrics and /health; 0 picks a free one and prints it"),
  METRICS_KEY(
      "metrics-key",
      null,
      "KEY",
      "key required for /metrics, at least 32 characters; by default none is required"),
  DATABASE_URL(
      "database-url",
      null,
      "URL",
      "postgresql://user:password@host:port/db or a JDBC URL; without it an embedded PostgreSQL is"
          + " used"),
  POOLER(
      "pooler",
      "none",
      "none|transaction",
      "connection pooler in front of PostgreSQL; transaction for PgBouncer in that mode"),
  DATA_DIR(
      "data-dir",
      "./data",
      "DIR",
      "embedded database, generated secrets and temporary files of large batches"),
  ROLES("roles", "api,engine", "LIST", "roles of this node: api, engine or both"),
  NODE_ID(
      "node-id", null, "NAME", "name in the cluster; by default the host name and a random suffix"),
  NODE_LEASE(
      "node-lease", "10s", "DURATION", "how long the node counts as alive without a heartbeat"),
  ADMIN_KEY(
      "admin-key",
      null,
      "KEY",
      "bootstrap admin key, at least 32 characters; by default generated once and stored in the"
          + " data directory"),
  ALLOW_TARGETS(
      "allow-targets",
      null,
      "LIST",
      "CIDRs and host names that HTTP targets may reach beyond public addresses; by default"
          + " loopback while the database is embedded and --bind is a loopback address"),
  KAFKA(
      "kafka",
      null,
      "NAME=HOST:PORT,...|NAME=@FILE",
      "a Kafka cluster that tasks may be published to; FILE has its client settings. Repeatable"),
  RABBITMQ(
      "rabbitmq",
      null,
      "NAME=amqp[s]://USER:PASSWORD@HOST/VHOST|NAME=@FILE",
      "a RabbitMQ cluster that tasks may be published to. Repeatable"),
  CONCURRENCY("concurrency", "512", "N", "maximum concurrent deliveries on this node"),
  DRAIN_TIMEOUT(
      "drain-timeout",
      "10s",
      "DURATION",
      "how long running deliveries may take to finish on shutdown"),
  RETENTION("retention", "30d", "DURATION", "how long ended tasks are kept"),
  DEAD_LETTER_TTL(
      "dead-letter-ttl",
      "30d",
      "DURATION",
      "how long dead letters are kept before they are archived"),
  ARCHIVE_DIR(
      "archive-dir",
      null,
      "DIR",
      "where archived dead letters are written; by default archive in the data directory"),
  POISON_CRASHES(
      "poison-crashes", "3", "N", "a task that crashed this many nodes is dead; at least 2"),
  ALERT_URL(
      "alert-url",
      null,
      "URL",
      "gets a POST when a group of dead letters grows; tenants can set their own"),
  ALERT_DEATHS("alert-deaths", "10", "N", "dead letters of one group that raise an alert"),
  ALERT_WITHIN("alert-within", "5m", "DURATION", "time window for --alert-deaths"),
  POOL_SIZE("pool-size", "14", "N", "database connections that the API and the engine share"),
  MAX_TYPES("max-types", "1000", "N", "maximum task types per tenant"),
  MAX_LANES(
      "max-lanes",
      "10000",
      "N",
      "maximum lanes per tenant: one for each type, priority, slice and kind of target"),
  MAX_SCHEDULES("max-schedules", "10000", "N", "maximum schedules per tenant"),
  MAX_KEYS(
      "max-keys", "1000", "N", "maximum API keys per tenant that are neither revoked nor expired"),
  LOG_FORMAT("log-format", "text", "text|json", "format of log lines"),
  LOG_LEVEL("log-level", "info", "LEVEL", "lowest level logged: error, warn, info, debug or trace");

  /** For a value in a file, so that a secret is in no process list and no image. */
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
