package carillon.app.config;

import carillon.cli.Text;
import java.util.Arrays;
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
      "connections that one client address may have, of 8192 in all; raise it if a proxy in front"
          + " brings all clients"),
  METRICS_PORT(
      "metrics-port",
      null,
      "PORT",
      "a port of its own for /metrics and /health; 0 picks a free one and prints it"),
  METRICS_KEY(
      "metrics-key",
      null,
      "KEY",
      "a key that /metrics asks for, 32 characters at least; by default it asks for none"),
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
      "what is between this node and PostgreSQL; transaction for PgBouncer in that mode"),
  DATA_DIR(
      "data-dir", "./data", "DIR", "embedded database, generated secrets, room for large batches"),
  ROLES("roles", "api,engine", "LIST", "what this node does: api, engine or both"),
  NODE_ID(
      "node-id", null, "NAME", "name in the cluster; by default the host name and a random part"),
  NODE_LEASE(
      "node-lease", "10s", "DURATION", "how long the node is believed alive without a heartbeat"),
  ADMIN_KEY(
      "admin-key",
      null,
      "KEY",
      "the bootstrap admin key, 32 characters at least; by default generated once and kept in the"
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
  CONCURRENCY("concurrency", "512", "N", "deliveries that may run at once on this node"),
  DRAIN_TIMEOUT("drain-timeout", "10s", "DURATION", "how long deliveries may finish on shutdown"),
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
      "poison-crashes", "3", "N", "a task that so many nodes died of is dead, 2 at least"),
  ALERT_URL(
      "alert-url",
      null,
      "URL",
      "gets one POST when dead letters of one kind grow; without it nobody does, except where a"
          + " tenant has its own"),
  ALERT_DEATHS("alert-deaths", "10", "N", "deaths of one kind that are worth an alert"),
  ALERT_WITHIN("alert-within", "5m", "DURATION", "the time in which they must have died"),
  POOL_SIZE("pool-size", "14", "N", "database connections that the API and the engine share"),
  MAX_TYPES("max-types", "1000", "N", "task types that a tenant may have"),
  MAX_LANES(
      "max-lanes",
      "10000",
      "N",
      "lanes that a tenant may have: one for each type, priority, slice and kind of target"),
  MAX_SCHEDULES("max-schedules", "10000", "N", "schedules that a tenant may have"),
  MAX_KEYS("max-keys", "1000", "N", "API keys that a tenant may have, neither revoked nor expired"),
  LOG_FORMAT("log-format", "text", "text|json", "how log lines are written"),
  LOG_LEVEL(
      "log-level",
      "info",
      "LEVEL",
      "least serious level logged: error, warn, info, debug or trace");

  /** A value that is in a file of its own, so that a secret is in no process list and no image. */
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

  /** Secrets are never shown, and may be given by the name of a file that holds them. */
  boolean isSecret() {
    // A webhook's URL is often all that one needs to use it.
    return this == DATABASE_URL
        || this == ADMIN_KEY
        || this == METRICS_KEY
        || this == ALERT_URL
        || isNamedList();
  }

  /** Several values, each {@code NAME=...}, with spaces between them; see {@link NamedValue}. */
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

  /** The known key that looks most like the given one. */
  static String nearest(String unknown) {
    return Text.nearest(unknown, Arrays.stream(values()).map(setting -> setting.key).toList());
  }
}
