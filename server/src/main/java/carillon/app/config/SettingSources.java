package carillon.app.config;

import carillon.cli.CommandFailed;
import carillon.cli.Text;
import carillon.model.Suggestion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.LinkedHashMap;
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
 * The sources of settings: flags override variables, which override the file. Unknown keys are
 * rejected.
 */
final class SettingSources {

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

  /** A value and where it was found, for error messages. */
  record Given(String text, String origin) {}

  private final Map<String, String> environment;
  private final Path directory;
  private final Map<Setting, Given> given = new EnumMap<>(Setting.class);
  private @Nullable Path file;

  /**
   * @param environment the variables
   * @param directory the working directory, which relative paths start from
   */
  SettingSources(Map<String, String> environment, Path directory) {
    this.environment = environment;
    this.directory = directory;
  }

  /** Reads all sources, with the flags by key without the dashes. */
  void read(Map<String, String> flags) {
    given.clear();
    file = null;
    readFile(flags);
    refuseUnknownVariables();
    readSource(Setting::variableOf, key -> variable(Setting.variableOf(key)));
    readSource(key -> "--" + key, flags::get);
  }

  /** The value of a setting; null if no source has one. */
  @Nullable Given find(Setting setting) {
    return given.get(setting);
  }

  /** The configuration file that was read; null if there was none. */
  @Nullable Path file() {
    return file;
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
                + Suggestion.hint(key, Setting.keys()));
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
        throw new CommandFailed(file + ": must contain \"key: value\" lines");
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
          file.getFileName() + ": " + key + " must be a single value or a list of values");
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
        throw new CommandFailed(
            "unknown variable "
                + quoted(name)
                + Suggestion.hint(name, Setting.keys().stream().map(Setting::variableOf).toList()));
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
  @Nullable String variable(String name) {
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

  static String quoted(String text) {
    return "\"" + Text.visible(text) + "\"";
  }
}
