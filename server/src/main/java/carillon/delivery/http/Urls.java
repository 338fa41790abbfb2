package carillon.delivery.http;

import carillon.model.target.HttpTargetRules;
import carillon.model.target.TargetUrl;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Reads the URLs of targets, and remembers those it was asked for of late: what the rules say of a
 * text does not change while a node runs. What a name resolves to may, and is vetted by every
 * attempt.
 */
final class Urls {

  /** Of at most {@link TargetUrl#MAX_LENGTH} characters each, so these take a few MB at worst. */
  private static final int MAX_KNOWN = 1_000;

  private final HttpTargetRules rules;
  private final Map<String, TargetUrl> known = new ConcurrentHashMap<>();

  Urls(HttpTargetRules rules) {
    this.rules = rules;
  }

  /** The URL's parts; null if the rules refuse it. */
  @Nullable TargetUrl allowed(String text) {
    TargetUrl url = known.get(text);
    return url != null ? url : read(text);
  }

  private @Nullable TargetUrl read(String text) {
    if (rules.checkUrl(text).isPresent()) {
      return null;
    }
    TargetUrl url = TargetUrl.parse(text).orElseThrow();
    if (known.size() >= MAX_KNOWN) {
      known.clear(); // those in use are back at once
    }
    known.put(text, url);
    return url;
  }
}
