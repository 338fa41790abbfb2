package carillon.app.config;

import carillon.cli.CommandFailed;
import carillon.cli.Text;
import carillon.model.target.BrokerName;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * One {@code NAME=VALUE} of a setting that takes several.
 *
 * @param text the value, which may be or name a secret and is never shown
 * @param origin where it was given, for the error message
 */
record NamedValue(String name, String text, String origin) {

  /** In the order given; each name once. */
  static List<NamedValue> list(String given, String origin) {
    List<NamedValue> values = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (String part : given.strip().split("\\s+", -1)) {
      int equals = part.indexOf('=');
      // Not shown otherwise: without a name it may be nothing but a secret.
      if (equals < 0) {
        throw new CommandFailed(origin + ": each value must be NAME=...");
      }
      var value = new NamedValue(part.substring(0, equals), part.substring(equals + 1), origin);
      if (!BrokerName.isCluster(value.name())) {
        throw value.refused("the name must be 1 to 40 small letters, digits or dashes");
      }
      if (!names.add(value.name())) {
        throw value.refused("the name is given twice");
      }
      values.add(value);
    }
    return values;
  }

  /** Whether the value is {@code @} and the name of a file. */
  boolean isFile() {
    return text.startsWith("@");
  }

  CommandFailed refused(String why) {
    return new CommandFailed(origin + " " + Text.visible(name) + ": " + why);
  }

  @Override
  public String toString() {
    return name + "=***";
  }
}
