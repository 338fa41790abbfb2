package carillon.model.target;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Hides the secrets of a target's URL: user info, and the values of query and path parameters whose
 * names look secret. Secrets in the path itself cannot be recognized.
 */
public final class SecretUrl {

  private SecretUrl() {}

  /** A parameter and the position of its value in the URL. */
  private record Parameter(String name, int from, int to) {

    boolean isSecret() {
      return SecretNames.isParameter(name);
    }

    boolean isHiddenIn(String url) {
      return url.substring(from, to).equals(HiddenValues.TEXT);
    }
  }

  /** The URL with its secrets hidden. */
  public static String hidden(String url) {
    if (url.indexOf('=') < 0 && url.indexOf('@') < 0) {
      return url; // almost always, and every attempt calls this
    }
    String shown = url;
    for (Parameter parameter : parameters(url).reversed()) {
      if (parameter.isSecret()) {
        shown = replaced(shown, parameter, HiddenValues.TEXT);
      }
    }
    return withoutUser(shown);
  }

  /** The secret values, as they are sent. */
  public static List<String> secrets(String url) {
    return parameters(url).stream()
        .filter(Parameter::isSecret)
        .map(parameter -> url.substring(parameter.from(), parameter.to()))
        .toList();
  }

  /** Whether the value of a parameter is hidden. */
  static boolean hasHidden(String url) {
    return url.contains(HiddenValues.TEXT)
        && parameters(url).stream().anyMatch(parameter -> parameter.isHiddenIn(url));
  }

  /**
   * The URL with hidden values replaced by those of the stored URL's parameters of the same name.
   *
   * @return null if the stored URL has no value for one of them
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

  /** All parameters: after ? and &amp; in the query, and after ; anywhere. */
  private static List<Parameter> parameters(String url) {
    List<Parameter> found = new ArrayList<>();
    if (url.indexOf('=') < 0) {
      return found; // almost always
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
