package carillon.delivery.http;

import carillon.model.target.HttpTargetRules;
import carillon.model.target.TargetUrl;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Parses the URLs of targets and caches those that the rules allow: the rules do not change while a
 * node runs. The addresses that a name resolves to may change, and are vetted by every attempt.
 */
final class Urls {

  /** At {@link TargetUrl#MAX_LENGTH} characters each, a few MB at most. */
  private static final int MAX_KNOWN = 1_000;

  private final HttpTargetRules rules;
  private final Map<String, TargetUrl> known = new ConcurrentHashMap<>();

  Urls(HttpTargetRules rules) {
    this.rules = rules;
  }

  /** The parsed URL; null if the rules reject it. */
  @Nullable TargetUrl allowed(String text) {
    TargetUrl url = known.get(text);
    return url != null ? url : parse(text);
  }

  private @Nullable TargetUrl parse(String text) {
    if (rules.checkUrl(text).isPresent()) {
      return null;
    }
    TargetUrl url = TargetUrl.parse(text).orElseThrow();
    if (known.size() >= MAX_KNOWN) {
      known.clear(); // the URLs in use return immediately
    }
    known.put(text, url);
    return url;
  }
}
