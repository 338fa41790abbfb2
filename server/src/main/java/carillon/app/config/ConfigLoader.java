package carillon.app.config;

import carillon.api.HttpApi;
import carillon.cli.CommandFailed;
import carillon.cli.Text;
import carillon.model.Durations;
import carillon.model.target.AddressRules;
import carillon.model.target.HttpTargetRules;
import carillon.model.task.AlertRule;
import carillon.store.catalog.TenantLimits;
import carillon.store.db.Pooler;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

/**
 * Reads the configuration: flag before variable before file before default. The only class that
 * does.
 *
 * <p>It never corrects: an unknown key or a bad value is refused with the key, the value and the
 * rule.
 */
public final class ConfigLoader {

  /** The key that names the file itself. */
  static final String CONFIG = "config";

  static final String DEFAULT_FILE = "carillon.yaml";

  /** Read by the command line and the start script, so not unknown. */
  private static final Set<String> OTHER_VARIABLES =
      Set.of(
          "CARILLON_CONFIG",
          "CARILLON_URL",
          "CARILLON_KEY",
          "CARILLON_KEY_FILE",
          "CARILLON_TENANT",
          "CARILLON_JAVA_OPTS");

  /** Kubernetes adds these to every container if there is a service called carillon. */
  private static final Pattern SERVICE_LINK =
      Pattern.compile("CARILLON_(.+_)?(SERVICE_(HOST|PORT)(_.*)?|PORT_[0-9]+_(TCP|UDP)(_.*)?)");

  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_.-]{1,100}");
  private static final Pattern LONG_KEY =
      Pattern.compile("[!-~]{" + AdminKey.MIN_CHARS + "," + AdminKey.MAX_CHARS + "}");
  private static final Pattern HOST_NAME =
      Pattern.compile("(\\*\\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})");
  private static final Pattern ADDRESS =
      Pattern.compile("([0-9.]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)(?:/([0-9]{1,3}))?");
  private static final Set<String> LOG_LEVELS = Set.of("error", "warn", "info", "debug", "trace");
  private static final List<String> LOOPBACK = List.of("127.0.0.0/8", "::1/128");

  /** A value and where it was found, for the error message. */
  private record Given(String text, String origin) {}

  private final Map<String, String> environment;
  private final Path directory;
  private final Map<Setting, Given> given = new EnumMap<>(Setting.class);
  private @Nullable Path file;

  /**
   * @param environment the variables
   * @param directory the working directory, which relative paths start from
   */
  public ConfigLoader(Map<String, String> environment, Path directory) {
    this.environment = environment;
    this.directory = directory;
  }

  /** The configuration with the given flags, by key without the dashes. */
  public Config load(Map<String, String> flags) {
    given.clear();
    file = null;
    readFile(flags);
    refuseUnknownVariables();
    readSource(Setting::variableOf, key -> variable(Setting.variableOf(key)));
    readSource(key -> "--" + key, flags::get);
    return build();
  }

  private void readFile(Map<String, String> flags) {
    String named = flags.getOrDefault(CONFIG, variable("CARILLON_CONFIG"));
    Path file = directory.resolve(named == null ? DEFAULT_FILE : named);
    if (named == null && !Files.exists(file)) {
      return;
    }
    this.file = file.normalize().toAbsolutePath();
    Map<String, String> values = new LinkedHashMap<>();
    JsonNode root = parse(file);
    for (Map.Entry<String, JsonNode> field : root.properties()) {
      String key = field.getKey();
      String plain =
          key.endsWith(Setting.FILE_SUFFIX)
              ? key.substring(0, key.length() - Setting.FILE_SUFFIX.length())
              : key;
      Optional<Setting> setting = Setting.of(plain);
      if (setting.isEmpty() || (!plain.equals(key) && !setting.get().isSecret())) {
        throw new CommandFailed(
            file.getFileName()
                + ": unknown key "
                + quoted(key)
                + "; did you mean "
                + Setting.nearest(key)
                + "?");
      }
      String separator = setting.get().isNamedList() ? " " : ",";
      values.put(key, scalar(file, key, field.getValue(), separator));
    }
    readSource(key -> file.getFileName() + ": " + key, values::get);
  }

  private static JsonNode parse(Path file) {
    YAMLMapper yaml =
        YAMLMapper.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();
    try {
      JsonNode root = yaml.readTree(Files.readString(file));
      if (root.isMissingNode() || root.isNull()) {
        return yaml.createObjectNode();
      }
      if (!root.isObject()) {
        throw new CommandFailed(file + ": must be a list of \"key: value\" lines");
      }
      return root;
    } catch (IOException e) {
      throw new CommandFailed(
          "the configuration file " + file + " cannot be read: " + CommandFailed.reason(e));
    } catch (JacksonException e) {
      throw new CommandFailed(
          file
              + ": line "
              + e.getLocation().getLineNr()
              + " is not YAML: "
              + e.getOriginalMessage());
    }
  }

  private static String scalar(Path file, String key, JsonNode value, String separator) {
    if (value.isArray() && value.valueStream().allMatch(JsonNode::isValueNode)) {
      return value.valueStream().map(JsonNode::asString).collect(Collectors.joining(separator));
    }
    if (value.isNull() || !value.isValueNode()) {
      throw new CommandFailed(
          file.getFileName() + ": " + key + " must have one value, or a list of them");
    }
    return value.asString();
  }

  /** A typing error in a variable would otherwise be a setting that silently does nothing. */
  private void refuseUnknownVariables() {
    for (String name : environment.keySet()) {
      if (name.startsWith("CARILLON_")
          && !OTHER_VARIABLES.contains(name)
          && !SERVICE_LINK.matcher(name).matches()
          && !isVariable(name)) {
        String key =
            name.substring("CARILLON_".length()).toLowerCase(Locale.ROOT).replace('_', '-');
        throw new CommandFailed(
            "unknown variable "
                + quoted(name)
                + "; did you mean "
                + Setting.variableOf(Setting.nearest(key))
                + "?");
      }
    }
  }

  private static boolean isVariable(String name) {
    for (Setting setting : Setting.values()) {
      if (name.equals(setting.variable())
          || (setting.isSecret() && name.equals(setting.variable() + "_FILE"))) {
        return true;
      }
    }
    return false;
  }

  /** An empty variable counts as not set, as in compose files and shells. */
  private @Nullable String variable(String name) {
    String value = environment.get(name);
    return value == null || value.isEmpty() ? null : value;
  }

  /** Adds the values of one source, which override those of earlier calls. */
  private void readSource(
      Function<String, String> origin, Function<String, @Nullable String> source) {
    for (Setting setting : Setting.values()) {
      String value = source.apply(setting.key);
      String fileKey = setting.key + Setting.FILE_SUFFIX;
      String file = setting.isSecret() ? source.apply(fileKey) : null;
      if (value != null && file != null) {
        throw new CommandFailed(
            "give either " + origin.apply(setting.key) + " or " + origin.apply(fileKey));
      }
      if (value != null) {
        given.put(setting, new Given(value.strip(), origin.apply(setting.key)));
      } else if (file != null) {
        given.put(setting, new Given(secret(origin.apply(fileKey), file), origin.apply(fileKey)));
      }
    }
  }

  private String secret(String origin, String file) {
    try {
      return Files.readString(directory.resolve(file)).strip();
    } catch (IOException e) {
      throw new CommandFailed(
          origin + ": the file " + quoted(file) + " cannot be read: " + CommandFailed.reason(e));
    }
  }

  private Config build() {
    DatabaseUrl url = read(Setting.DATABASE_URL, DatabaseUrl.RULE, DatabaseUrl::parse);
    Config.Http http =
        new Config.Http(
            required(Setting.BIND, "an IP address or a host name", ConfigLoader::bind),
            required(Setting.PORT, "a number from 0 to 65535", between(0, 65_535)),
            required(
                Setting.MAX_CONNECTIONS_PER_ADDRESS,
                "a number from 1 to 8192",
                between(1, HttpApi.MAX_CONNECTIONS)));
    List<String> allowTargets = allowTargets(url == null && http.isLoopback());
    Path dataDir = required(Setting.DATA_DIR, "a directory", this::directory);
    Path archiveDir = read(Setting.ARCHIVE_DIR, "a directory", this::writableDirectory);
    return new Config(
        new Config.Node(
            nodeId(),
            required(Setting.ROLES, "api, engine or both with a comma", ConfigLoader::roles),
            required(
                Setting.NODE_LEASE,
                "a duration from 1s to 10m",
                between(Duration.ofSeconds(1), Duration.ofMinutes(10))),
            dataDir),
        http,
        new Config.Database(
            url,
            required(Setting.POOL_SIZE, "a number from 2 to 1000", between(2, 1_000)),
            pooler(url == null)),
        new Config.Engine(
            required(Setting.CONCURRENCY, "a number from 1 to 100000", between(1, 100_000)),
            required(
                Setting.DRAIN_TIMEOUT,
                "a duration from 0s to 1h",
                between(Duration.ZERO, Duration.ofHours(1))),
            required(
                Setting.RETENTION,
                "a duration from 1d to 36500d",
                between(Duration.ofDays(1), Duration.ofDays(36_500))),
            required(Setting.POISON_CRASHES, "a number from 2 to 100", between(2, 100))),
        new Config.Access(read(Setting.ADMIN_KEY, AdminKey.RULE, matching(LONG_KEY)), allowTargets),
        new Config.Log(
            required(Setting.LOG_FORMAT, "text or json", ConfigLoader::logFormat),
            required(
                Setting.LOG_LEVEL,
                "error, warn, info, debug or trace",
                text -> Optional.of(text.toLowerCase(Locale.ROOT)).filter(LOG_LEVELS::contains))),
        new Config.Alert(
            alertUrl(allowTargets),
            required(
                Setting.ALERT_DEATHS,
                "a number from 1 to " + AlertRule.MAX_DEATHS,
                between(1, AlertRule.MAX_DEATHS)),
            required(
                Setting.ALERT_WITHIN,
                "a duration from 1s to 7d",
                between(AlertRule.MIN_WITHIN, AlertRule.MAX_WITHIN))),
        new Config.Archive(
            required(
                Setting.DEAD_LETTER_TTL,
                "a duration from 1m to 3650d",
                between(Duration.ofMinutes(1), Duration.ofDays(3_650))),
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
        file);
  }

  private Config.Metrics metrics(int apiPort) {
    Integer port = read(Setting.METRICS_PORT, "a number from 0 to 65535", between(0, 65_535));
    if (port != null && port != 0 && port == apiPort) {
      throw new CommandFailed(
          origin(Setting.METRICS_PORT) + ": " + port + " is the port of the API; choose another");
    }
    return new Config.Metrics(port, read(Setting.METRICS_KEY, AdminKey.RULE, matching(LONG_KEY)));
  }

  private int limit(Setting setting) {
    return required(
        setting, "a number from 1 to " + TenantLimits.MAX, between(1, TenantLimits.MAX));
  }

  private List<NamedValue> named(Setting setting) {
    Given found = given.get(setting);
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
    Pooler pooler = required(Setting.POOLER, "none or transaction", ConfigLoader::pooler);
    if (isEmbedded && pooler != Pooler.NONE) {
      throw new CommandFailed(
          origin(Setting.POOLER) + ": the embedded PostgreSQL has no pooler before it");
    }
    return pooler;
  }

  private static Optional<Pooler> pooler(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "none" -> Optional.of(Pooler.NONE);
      case "transaction" -> Optional.of(Pooler.TRANSACTION);
      default -> Optional.empty();
    };
  }

  private String origin(Setting setting) {
    Given found = given.get(setting);
    return found == null ? setting.key : found.origin();
  }

  private Optional<Path> directory(String text) {
    return Optional.of(directory.resolve(text).normalize());
  }

  /** One that is there, or can be made where it is wanted. */
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
    Given found = given.get(setting);
    if (found == null && setting.defaultText == null) {
      return null;
    }
    Given value =
        found == null
            ? new Given(setting.defaultText == null ? "" : setting.defaultText, setting.key)
            : found;
    Optional<T> parsed = value.text().isEmpty() ? Optional.empty() : parser.apply(value.text());
    return parsed.orElseThrow(
        () -> {
          String shown = setting.isSecret() ? "the value" : quoted(value.text());
          return new CommandFailed(value.origin() + ": " + shown + " is not " + rule);
        });
  }

  private String nodeId() {
    String id =
        read(
            Setting.NODE_ID,
            "1 to 100 letters, digits, dots, dashes or underscores",
            matching(NAME));
    if (id != null) {
      return id;
    }
    byte[] random = new byte[3];
    new SecureRandom().nextBytes(random);
    return hostName() + "-" + HexFormat.of().formatHex(random);
  }

  /**
   * Not from InetAddress, which queries name servers and takes seconds if they do not respond.
   */
  private String hostName() {
    String host = variable("HOSTNAME");
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
   * @param isTrial whether everything is on one machine: the database embedded, and the API open to
   *     nobody else. Elsewhere a target on this machine would let its callers in where they cannot
   *     connect themselves.
   */
  private List<String> allowTargets(boolean isTrial) {
    List<String> targets =
        read(
            Setting.ALLOW_TARGETS,
            "a comma list of CIDRs and host names, such as 10.0.0.0/8,hooks.internal",
            ConfigLoader::targets);
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

  private static Optional<List<String>> targets(String text) {
    List<String> targets = new ArrayList<>();
    for (String part : text.split(",", -1)) {
      String target = part.strip();
      if (!isAddress(target)
          && !(HOST_NAME.matcher(target).matches() && !ADDRESS.matcher(target).matches())) {
        return Optional.empty();
      }
      targets.add(target);
    }
    return Optional.of(targets);
  }

  /** An IP address with or without a prefix length. */
  private static boolean isAddress(String text) {
    var matcher = ADDRESS.matcher(text);
    if (!matcher.matches()) {
      return false;
    }
    try {
      int bits = InetAddress.ofLiteral(matcher.group(1)).getAddress().length * 8;
      return matcher.group(2) == null || Integer.parseInt(matcher.group(2)) <= bits;
    } catch (IllegalArgumentException _) {
      return false;
    }
  }

  private static Optional<String> bind(String text) {
    try {
      return Optional.of(InetAddress.getByName(text)).map(_ -> text);
    } catch (UnknownHostException _) {
      return Optional.empty();
    }
  }

  private static Optional<Set<Config.Role>> roles(String text) {
    Set<Config.Role> roles = EnumSet.noneOf(Config.Role.class);
    for (String part : text.split(",", -1)) {
      switch (part.strip().toLowerCase(Locale.ROOT)) {
        case "api" -> roles.add(Config.Role.API);
        case "engine" -> roles.add(Config.Role.ENGINE);
        default -> {
          return Optional.empty();
        }
      }
    }
    return Optional.of(roles);
  }

  private static Optional<Config.LogFormat> logFormat(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "text" -> Optional.of(Config.LogFormat.TEXT);
      case "json" -> Optional.of(Config.LogFormat.JSON);
      default -> Optional.empty();
    };
  }

  private static Function<String, Optional<Integer>> between(int least, int most) {
    return text -> {
      if (!text.matches("[0-9]{1,9}")) {
        return Optional.empty();
      }
      return Optional.of(Integer.parseInt(text))
          .filter(number -> number >= least && number <= most);
    };
  }

  private static Function<String, Optional<Duration>> between(Duration least, Duration most) {
    return text ->
        Durations.parse(text)
            .filter(duration -> duration.compareTo(least) >= 0 && duration.compareTo(most) <= 0);
  }

  private static Function<String, Optional<String>> matching(Pattern pattern) {
    return text -> Optional.of(text).filter(value -> pattern.matcher(value).matches());
  }

  private static String quoted(String text) {
    return "\"" + Text.visible(text) + "\"";
  }
}
