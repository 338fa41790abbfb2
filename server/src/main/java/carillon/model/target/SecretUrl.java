package carillon.model.target;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The URL of a target without its secrets: user info, and the values of parameters whose name looks
 * secret, in the query and in the path. Those in the path itself nobody can tell from other words.
 */
public final class SecretUrl {

  private SecretUrl() {}

  /** A parameter, and where in the URL its value stands. */
  private record Parameter(String name, int from, int to) {

    boolean isSecret() {
      return SecretNames.isParameter(name);
    }

    boolean isHiddenIn(String url) {
      return url.substring(from, to).equals(HiddenValues.TEXT);
    }
  }

  /** As it may be shown. */
  public static String hidden(String url) {
    if (url.indexOf('=') < 0 && url.indexOf('@') < 0) {
      return url; // nearly always, and every attempt asks
    }
    String shown = url;
    for (Parameter parameter : parameters(url).reversed()) {
      if (parameter.isSecret()) {
        shown = replaced(shown, parameter, HiddenValues.TEXT);
      }
    }
    return withoutUser(shown);
  }

  /** The values that are hidden, as they are sent. */
  public static List<String> secrets(String url) {
    return parameters(url).stream()
        .filter(Parameter::isSecret)
        .map(parameter -> url.substring(parameter.from(), parameter.to()))
        .toList();
  }

  /** Whether a parameter has the value that hidden ones are shown with. */
  static boolean hasHidden(String url) {
    return url.contains(HiddenValues.TEXT)
        && parameters(url).stream().anyMatch(parameter -> parameter.isHiddenIn(url));
  }

  /**
   * The URL with the values that another one has for hidden parameters of the same name.
   *
   * @return null if it has none for one of them
   */
  static @Nullable String restored(String url, String stored) {
    List<Parameter> known = parameters(stored);
    List<Parameter> wanted = parameters(url);
    List<Parameter> taken = new ArrayList<>();
    List<String> values = new ArrayList<>();
    for (Parameter parameter : wanted) {
      if (parameter.isHiddenIn(url)) {
        Parameter value =
            known.stream()
                .filter(each -> each.name().equals(parameter.name()) && !taken.contains(each))
                .findFirst()
                .orElse(null);
        if (value == null || value.isHiddenIn(stored)) {
          return null;
        }
        taken.add(value);
        values.add(stored.substring(value.from(), value.to()));
      } else {
        values.add(url.substring(parameter.from(), parameter.to()));
      }
    }
    String restored = url;
    for (int i = wanted.size() - 1; i >= 0; i--) {
      restored = replaced(restored, wanted.get(i), values.get(i));
    }
    return restored;
  }

  private static String replaced(String url, Parameter parameter, String value) {
    return url.substring(0, parameter.from()) + value + url.substring(parameter.to());
  }

  private static String withoutUser(String url) {
    int at = url.indexOf('@');
    int host = url.indexOf("://") + 3;
    if (at < 0 || host < 3) {
      return url;
    }
    int end = host;
    while (end < url.length() && "/?".indexOf(url.charAt(end)) < 0) {
      end++;
    }
    int last = url.lastIndexOf('@', end);
    return last < host ? url : url.substring(0, host) + HiddenValues.TEXT + url.substring(last);
  }

  /** All of them: after ? and &amp; in the query, and after ; wherever it stands. */
  private static List<Parameter> parameters(String url) {
    List<Parameter> found = new ArrayList<>();
    if (url.indexOf('=') < 0) {
      return found; // nearly always
    }
    boolean inQuery = false;
    int start = -1;
    int equals = -1;
    for (int i = 0; i <= url.length(); i++) {
      char c = i == url.length() ? '&' : url.charAt(i);
      boolean isSeparator =
          c == ';' || (inQuery ? c == '&' : c == '/' || c == '?') || i == url.length();
      if (isSeparator) {
        if (start >= 0 && equals > start) {
          found.add(new Parameter(url.substring(start, equals), equals + 1, i));
        }
        inQuery |= c == '?';
        start = inQuery || c == ';' ? i + 1 : -1;
        equals = -1;
      } else if (c == '=' && start >= 0 && equals < 0) {
        equals = i;
      }
    }
    return found;
  }
}
