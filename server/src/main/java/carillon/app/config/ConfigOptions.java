package carillon.app.config;

import carillon.cli.Console;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/** Every {@link Setting} as an option of a command. */
public final class ConfigOptions {

  private ConfigOptions() {}

  public static void addTo(CommandSpec spec, Setting... settings) {
    add(
        spec,
        SettingSources.CONFIG,
        "FILE",
        "the configuration file. Default " + SettingSources.DEFAULT_FILE,
        null);
    for (Setting setting : settings) {
      add(spec, setting);
      if (setting.isSecret()) {
        add(spec, setting.key + Setting.FILE_SUFFIX, "FILE", "a file that holds it", null);
      }
    }
  }

  private static void add(CommandSpec spec, Setting setting) {
    if (!setting.isNamedList()) {
      add(spec, setting.key, setting.label, setting.meaning, setting.defaultText);
      return;
    }
    spec.addOption(
        OptionSpec.builder(setting.flag())
            .paramLabel(setting.label)
            .type(List.class)
            .auxiliaryTypes(String.class)
            .description(setting.meaning)
            .build());
  }

  private static void add(
      CommandSpec spec, String key, String label, String meaning, @Nullable String defaultText) {
    String description = defaultText == null ? meaning : meaning + ". Default " + defaultText;
    spec.addOption(
        OptionSpec.builder("--" + key)
            .paramLabel(label)
            .type(String.class)
            .description(description)
            .build());
  }

  /** The configuration with the options that were given. */
  public static Config load(CommandSpec spec, Console console) {
    ParseResult parsed = spec.commandLine().getParseResult();
    Map<String, String> flags = new HashMap<>();
    for (OptionSpec option : parsed.matchedOptions()) {
      if (option.getValue() instanceof String value) {
        flags.put(option.longestName().substring(2), value);
      } else if (option.getValue() instanceof List<?> values) {
        flags.put(
            option.longestName().substring(2),
            values.stream().map(String::valueOf).collect(Collectors.joining(" ")));
      }
    }
    return new ConfigLoader(console.environment(), console.directory()).load(flags);
  }
}
