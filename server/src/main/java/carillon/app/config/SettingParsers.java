package carillon.app.config;

import carillon.model.Durations;
import carillon.store.db.Pooler;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;

/** Parsers of setting values; empty means invalid. */
final class SettingParsers {

  private static final Pattern HOST_NAME =
      Pattern.compile("(\\*\\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})");
  private static final Pattern ADDRESS =
      Pattern.compile("([0-9.]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)(?:/([0-9]{1,3}))?");
  private static final Set<String> LOG_LEVELS = Set.of("error", "warn", "info", "debug", "trace");

  private SettingParsers() {}

  static Optional<List<String>> targets(String text) {
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

  static Optional<String> bind(String text) {
    try {
      return Optional.of(InetAddress.getByName(text)).map(_ -> text);
    } catch (UnknownHostException _) {
      return Optional.empty();
    }
  }

  static Optional<Set<Config.Role>> roles(String text) {
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

  static Optional<Config.LogFormat> logFormat(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "text" -> Optional.of(Config.LogFormat.TEXT);
      case "json" -> Optional.of(Config.LogFormat.JSON);
      default -> Optional.empty();
    };
  }

  static Function<String, Optional<Integer>> between(int min, int max) {
    return text -> {
      if (!text.matches("[0-9]{1,9}")) {
        return Optional.empty();
      }
      return Optional.of(Integer.parseInt(text)).filter(number -> number >= min && number <= max);
    };
  }

  static Function<String, Optional<Duration>> between(Duration min, Duration max) {
    return text ->
        Durations.parse(text)
            .filter(duration -> duration.compareTo(min) >= 0 && duration.compareTo(max) <= 0);
  }

  static Function<String, Optional<String>> matching(Pattern pattern) {
    return text -> Optional.of(text).filter(value -> pattern.matcher(value).matches());
  }

  static Optional<Pooler> pooler(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "none" -> Optional.of(Pooler.NONE);
      case "transaction" -> Optional.of(Pooler.TRANSACTION);
      default -> Optional.empty();
    };
  }

  static Optional<String> logLevel(String text) {
    return Optional.of(text.toLowerCase(Locale.ROOT)).filter(LOG_LEVELS::contains);
  }
}
