package carillon.model.target;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Hides the secrets of targets: values that are stored and sent, but shown as {@value #TEXT}. A
 * change that sends this text back keeps the stored value.
 */
public final class HiddenValues {

  public static final String TEXT = "(hidden)";

  /** The code of an error about a hidden value. */
  public static final String CODE = "hidden_value";

  private HiddenValues() {}

  /** Thrown by a change that keeps a value that is not stored. */
  @SuppressWarnings("serial") // never serialized
  public static final class Unknown extends RuntimeException {

    private final List<HttpTargetRules.Problem> problems;

    private Unknown(List<HttpTargetRules.Problem> problems) {
      super(problems.getFirst().message());
      this.problems = List.copyOf(problems);
    }

    /** One for each field. */
    public List<HttpTargetRules.Problem> problems() {
      return problems;
    }
  }

  /** The target with its secrets hidden. */
  public static Target in(Target target) {
    if (!(target instanceof Target.Http http)) {
      return target;
    }
    Map<String, String> headers = new LinkedHashMap<>();
    http.headers().forEach((name, value) -> headers.put(name, http.isSecret(name) ? TEXT : value));
    return new Target.Http(
        SecretUrl.hidden(http.url()),
        http.method(),
        headers,
        http.secretHeaders(),
        http.body(),
        http.timeout());
  }

  /** Whether a value of the target is hidden. */
  public static boolean areIn(@Nullable Target target) {
    return target instanceof Target.Http http
        && (http.headers().containsValue(TEXT) || SecretUrl.hasHidden(http.url()));
  }

  /** The names of headers with hidden values, and "url", for a message. */
  public static List<String> namesIn(Target.Http target) {
    List<String> names = new ArrayList<>();
    target.headers().forEach((name, value) -> addIf(value.equals(TEXT), name, names));
    names.sort(null);
    addIf(SecretUrl.hasHidden(target.url()), "url", names);
    return names;
  }

  private static void addIf(boolean is, String name, List<String> names) {
    if (is) {
      names.add(name);
    }
  }

  /**
   * The target with hidden values replaced by the stored ones.
   *
   * @param field the name of the target, such as "target" or "onDead"
   * @param stored null if there is none
   * @throws Unknown if a value is not stored, or is stored for another host
   */
  public static @Nullable Target keep(
      String field, @Nullable Target wanted, @Nullable Target stored) {
    if (!(wanted instanceof Target.Http http) || !areIn(wanted)) {
      return wanted;
    }
    Target.Http before = stored instanceof Target.Http known ? known : null;
    // Otherwise a client that may change a target could send its secrets to a host of its own.
    boolean isSameOrigin = before != null && origin(http.url()).equals(origin(before.url()));
    Restorer restorer =
        new Restorer(field + "/http/", isSameOrigin ? before : null, before != null);
    Target.Http restored = restorer.restore(http);
    if (!restorer.problems.isEmpty()) {
      throw new Unknown(restorer.problems);
    }
    return restored;
  }

  /** The target with hidden values replaced where they are stored for the same host. */
  public static @Nullable Target keepKnown(@Nullable Target wanted, @Nullable Target stored) {
    if (!(wanted instanceof Target.Http http)
        || !(stored instanceof Target.Http before)
        || !areIn(wanted)
        || !origin(http.url()).equals(origin(before.url()))) {
      return wanted;
    }
    return new Restorer("", before, true).restore(http);
  }

  private static String origin(String url) {
    return TargetUrl.parse(url)
        .map(
            parsed ->
                (parsed.secure() ? "https://" : "http://") + parsed.host() + ":" + parsed.port())
        .orElse(url);
  }

  /** Replaces the hidden values of one target and collects those that are not stored. */
  private static final class Restorer {

    private final String at;
    private final Target.@Nullable Http before;
    private final boolean hasOther;
    private final List<HttpTargetRules.Problem> problems = new ArrayList<>();

    /**
     * @param hasOther whether a target is stored, perhaps for another host
     */
    Restorer(String at, Target.@Nullable Http before, boolean hasOther) {
      this.at = at;
      this.before = before;
      this.hasOther = hasOther;
    }

    Target.Http restore(Target.Http http) {
      Map<String, String> headers = new LinkedHashMap<>();
      Set<String> secret = new LinkedHashSet<>(http.secretHeaders());
      http.headers()
          .forEach(
              (name, value) -> {
                String kept = value.equals(TEXT) ? stored(name) : value;
                headers.put(name, kept == null ? TEXT : kept);
                if (value.equals(TEXT)) {
                  secret.add(name); // it stays secret, whatever else changes
                  check(kept, "headers/" + name);
                }
              });
      String url = http.url();
      if (SecretUrl.hasHidden(url)) {
        String kept = before == null ? null : SecretUrl.restored(url, before.url());
        check(kept, "url");
        url = kept == null ? url : kept;
      }
      secret.removeIf(SecretNames::isHeader);
      secret.addAll(http.secretHeaders());
      return new Target.Http(url, http.method(), headers, secret, http.body(), http.timeout());
    }

    private @Nullable String stored(String name) {
      if (before == null) {
        return null;
      }
      String wanted = name.toLowerCase(Locale.ROOT);
      return before.headers().entrySet().stream()
          .filter(header -> header.getKey().toLowerCase(Locale.ROOT).equals(wanted))
          .map(Map.Entry::getValue)
          .filter(value -> !value.equals(TEXT))
          .findFirst()
          .orElse(null);
    }

    private void check(@Nullable String kept, String field) {
      if (kept == null) {
        String why =
            before == null && hasOther
                ? "a stored value is kept only for the same scheme, host and port"
                : "there is no stored value to keep";
        problems.add(
            new HttpTargetRules.Problem(
                at + field, CODE, "is " + TEXT + ", and " + why + "; send the value itself"));
      }
    }
  }
}
