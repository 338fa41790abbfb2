package carillon.app.config;

import carillon.api.HttpApi;
import carillon.cli.CommandFailed;
import carillon.model.target.AddressRules;
import carillon.model.target.HttpTargetRules;
import carillon.model.task.AlertRule;
import carillon.store.catalog.TenantLimits;
import carillon.store.db.Pooler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Builds the configuration from {@link SettingSources} and defaults. It never corrects a value: an
 * invalid one is rejected with its key, the value and the rule.
 */
public final class ConfigLoader {

  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_.-]{1,100}");
  private static final Pattern LONG_KEY =
      Pattern.compile("[!-~]{" + AdminKey.MIN_CHARS + "," + AdminKey.MAX_CHARS + "}");
  private static final List<String> LOOPBACK = List.of("127.0.0.0/8", "::1/128");

  private final Path directory;
  private final SettingSources sources;

  /**
   * @param environment the variables
   * @param directory the working directory, which relative paths start from
   */
  public ConfigLoader(Map<String, String> environment, Path directory) {
    this.directory = directory;
    this.sources = new SettingSources(environment, directory);
  }

  /** The configuration with the given flags, by key without the dashes. */
  public Config load(Map<String, String> flags) {
    sources.read(flags);
    return build();
  }

  private Config build() {
    DatabaseUrl url = read(Setting.DATABASE_URL, DatabaseUrl.RULE, DatabaseUrl::parse);
    Config.Http http =
        new Config.Http(
            required(Setting.BIND, "an IP address or a host name", SettingParsers::bind),
            required(Setting.PORT, "a number from 0 to 65535", SettingParsers.between(0, 65_535)),
            required(
                Setting.MAX_CONNECTIONS_PER_ADDRESS,
                "a number from 1 to 8192",
                SettingParsers.between(1, HttpApi.MAX_CONNECTIONS)));
    List<String> allowTargets = allowTargets(url == null && http.isLoopback());
    Path dataDir = required(Setting.DATA_DIR, "a directory", this::directory);
    Path archiveDir = read(Setting.ARCHIVE_DIR, "a directory", this::writableDirectory);
    return new Config(
        new Config.Node(
            nodeId(),
            required(Setting.ROLES, "api, engine or both with a comma", SettingParsers::roles),
            required(
                Setting.NODE_LEASE,
                "a duration from 1s to 10m",
                SettingParsers.between(Duration.ofSeconds(1), Duration.ofMinutes(10))),
            dataDir),
        http,
        new Config.Database(
            url,
            required(
                Setting.POOL_SIZE, "a number from 2 to 1000", SettingParsers.between(2, 1_000)),
            pooler(url == null)),
        new Config.Engine(
            required(
                Setting.CONCURRENCY,
                "a number from 1 to 100000",
                SettingParsers.between(1, 100_000)),
            required(
                Setting.DRAIN_TIMEOUT,
                "a duration from 0s to 1h",
                SettingParsers.between(Duration.ZERO, Duration.ofHours(1))),
            required(
                Setting.RETENTION,
                "a duration from 1d to 36500d",
                SettingParsers.between(Duration.ofDays(1), Duration.ofDays(36_500))),
            required(
                Setting.POISON_CRASHES, "a number from 2 to 100", SettingParsers.between(2, 100))),
        new Config.Access(
            read(Setting.ADMIN_KEY, AdminKey.RULE, SettingParsers.matching(LONG_KEY)),
            allowTargets),
        new Config.Log(
            required(Setting.LOG_FORMAT, "text or json", SettingParsers::logFormat),
            required(
                Setting.LOG_LEVEL, "error, warn, info, debug or trace", SettingParsers::logLevel)),
        new Config.Alert(
            alertUrl(allowTargets),
            required(
                Setting.ALERT_DEATHS,
                "a number from 1 to " + AlertRule.MAX_DEATHS,
                SettingParsers.between(1, AlertRule.MAX_DEATHS)),
            required(
                Setting.ALERT_WITHIN,
                "a duration from 1s to 7d",
                SettingParsers.between(AlertRule.MIN_WITHIN, AlertRule.MAX_WITHIN))),
        new Config.Archive(
            required(
                Setting.DEAD_LETTER_TTL,
                "a duration from 1m to 3650d",
                SettingParsers.between(Duration.ofMinutes(1), Duration.ofDays(3_650))),
            archiveDir == null ? dataDir.resolve("archive") : archiveDir),
        new Config.Brokers(
            new BrokerOptions(directory).kafka(named(Setting.KAFKA)),
            new BrokerOptions(directory).rabbitmq(named(Setting.RABBITMQ))),
        new TenantLimits.Installation(
            limit(Setting.MAX_TYPES),
            limit(Setting.MAX_LANES),
            limit(Setting.MAX_SCHEDULES),
            limit(Setting.MAX_KEYS)),
        metrics(http.port()),
        sources.file());
  }

  private Config.Metrics metrics(int apiPort) {
    Integer port =
        read(Setting.METRICS_PORT, "a number from 0 to 65535", SettingParsers.between(0, 65_535));
    if (port != null && port != 0 && port == apiPort) {
      throw new CommandFailed(
          origin(Setting.METRICS_PORT) + ": " + port + " is the port of the API; choose another");
    }
    return new Config.Metrics(
        port, read(Setting.METRICS_KEY, AdminKey.RULE, SettingParsers.matching(LONG_KEY)));
  }

  private int limit(Setting setting) {
    return required(
        setting,
        "a number from 1 to " + TenantLimits.MAX,
        SettingParsers.between(1, TenantLimits.MAX));
  }

  private List<NamedValue> named(Setting setting) {
    SettingSources.Given found = sources.find(setting);
    return found == null ? List.of() : NamedValue.list(found.text(), found.origin());
  }

  /** Checked by the rules of all HTTP targets. */
  private @Nullable String alertUrl(List<String> allowTargets) {
    String url = read(Setting.ALERT_URL, "a URL", Optional::of);
    if (url != null) {
      new HttpTargetRules(AddressRules.of(allowTargets))
          .checkUrl(url)
          .ifPresent(
              problem -> {
                throw new CommandFailed(origin(Setting.ALERT_URL) + ": " + problem.message());
              });
    }
    return url;
  }

  private Pooler pooler(boolean isEmbedded) {
    Pooler pooler = required(Setting.POOLER, "none or transaction", SettingParsers::pooler);
    if (isEmbedded && pooler != Pooler.NONE) {
      throw new CommandFailed(origin(Setting.POOLER) + ": the embedded PostgreSQL has no pooler");
    }
    return pooler;
  }

  private String origin(Setting setting) {
    SettingSources.Given found = sources.find(setting);
    return found == null ? setting.key : found.origin();
  }

  private Optional<Path> directory(String text) {
    return Optional.of(directory.resolve(text).normalize());
  }

  /** An existing directory, or one that can be created. */
  private Optional<Path> writableDirectory(String text) {
    Path wanted = directory.resolve(text).normalize().toAbsolutePath();
    Path there = wanted;
    while (there != null && Files.notExists(there)) {
      there = there.getParent();
    }
    return there != null && Files.isDirectory(there) && Files.isWritable(there)
        ? Optional.of(wanted)
        : Optional.empty();
  }

  private <T> T required(Setting setting, String rule, Function<String, Optional<T>> parser) {
    T value = read(setting, rule, parser);
    if (value == null) {
      throw new IllegalStateException(setting + " has no default");
    }
    return value;
  }

  private <T> @Nullable T read(Setting setting, String rule, Function<String, Optional<T>> parser) {
    SettingSources.Given found = sources.find(setting);
    if (found == null && setting.defaultText == null) {
      return null;
    }
    SettingSources.Given value =
        found == null
            ? new SettingSources.Given(
                setting.defaultText == null ? "" : setting.defaultText, setting.key)
            : found;
    Optional<T> parsed = value.text().isEmpty() ? Optional.empty() : parser.apply(value.text());
    return parsed.orElseThrow(
        () -> {
          String shown = setting.isSecret() ? "the value" : SettingSources.quoted(value.text());
          return new CommandFailed(value.origin() + ": " + shown + " is not " + rule);
        });
  }

  private String nodeId() {
    String id =
        read(
            Setting.NODE_ID,
            "1 to 100 letters, digits, dots, dashes or underscores",
            SettingParsers.matching(NAME));
    if (id != null) {
      return id;
    }
    byte[] random = new byte[3];
    new SecureRandom().nextBytes(random);
    return hostName() + "-" + HexFormat.of().formatHex(random);
  }

  /** Not from InetAddress, which queries name servers and takes seconds if they do not respond. */
  private String hostName() {
    String host = sources.variable("HOSTNAME");
    if (host == null) {
      try {
        host = Files.readString(Path.of("/etc/hostname")).strip();
      } catch (IOException _) {
        host = "node";
      }
    }
    String name = host.replaceAll("[^A-Za-z0-9_.-]", "-");
    return name.isEmpty() ? "node" : name.substring(0, Math.min(name.length(), 60));
  }

  /**
   * @param isTrial whether everything is on one machine: the database is embedded, and the API is
   *     bound to loopback. Otherwise a loopback target would let remote callers reach services that
   *     they cannot connect to.
   */
  private List<String> allowTargets(boolean isTrial) {
    List<String> targets =
        read(
            Setting.ALLOW_TARGETS,
            "a comma list of CIDRs and host names, such as 10.0.0.0/8,hooks.internal",
            SettingParsers::targets);
    if (targets == null) {
      return isTrial ? LOOPBACK : List.of();
    }
    try {
      AddressRules.of(targets);
    } catch (IllegalArgumentException e) {
      throw new CommandFailed(origin(Setting.ALLOW_TARGETS) + ": " + e.getMessage());
    }
    return targets;
  }
}
