package carillon.delivery.http;

import carillon.model.target.SecretUrl;
import carillon.model.target.Target;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The secrets of one request, which are removed from the response: a target that echoes requests
 * would show them to everybody who may read its responses.
 */
record SentSecrets(List<String> values) {

  /** Shorter values occur by chance in unrelated text. */
  private static final int MIN_LENGTH = 6;

  /** At the end of a truncated text, a prefix of a secret is hidden from this length on. */
  private static final int MIN_PREFIX = 4;

  /** A text with fewer characters is never truncated, however many bytes they take. */
  private static final int MIN_TRUNCATED = BodyExcerpt.MAX_BYTES / 4;

  private static final SentSecrets NONE = new SentSecrets(List.of());

  static SentSecrets of(Target.Http target) {
    List<String> values = new ArrayList<>();
    SecretUrl.secrets(target.url()).forEach(value -> add(value, values));
    target
        .headers()
        .forEach(
            (name, value) -> {
              if (target.isSecret(name)) {
                add(value.strip(), values);
                // "Bearer x" may be echoed with or without its scheme.
                add(value.strip().substring(value.strip().indexOf(' ') + 1).strip(), values);
              }
            });
    if (values.isEmpty()) {
      return NONE;
    }
    values.sort(Comparator.comparingInt(String::length).reversed());
    return new SentSecrets(values);
  }

  private static void add(String value, List<String> values) {
    if (value.length() >= MIN_LENGTH && !values.contains(value)) {
      values.add(value);
    }
  }

  boolean isEmpty() {
    return values.isEmpty();
  }

  /** The text with the secrets hidden, in whatever encoding, and not longer than before. */
  String hiddenIn(String text) {
    String hidden = text;
    for (EchoedText.Encoding encoding : EchoedText.Encoding.values()) {
      if (encoding.isIn(hidden)) {
        hidden = hiddenIn(EchoedText.of(hidden, encoding), text.length() >= MIN_TRUNCATED);
      }
    }
    if (hidden.length() <= text.length()) {
      return hidden;
    }
    int end = text.length();
    return hidden.substring(0, Character.isHighSurrogate(hidden.charAt(end - 1)) ? end - 1 : end);
  }

  private String hiddenIn(EchoedText text, boolean mayBeTruncated) {
    EchoedText hidden = text;
    for (String value : values) {
      hidden = hidden.without(value);
    }
    return (mayBeTruncated ? withoutPrefix(hidden) : hidden).written();
  }

  /** A truncated response may end in the middle of a secret. */
  private EchoedText withoutPrefix(EchoedText text) {
    for (String value : values) {
      EchoedText without = text.withoutPrefixOf(value, MIN_PREFIX);
      if (without != null) {
        return without;
      }
    }
    return text;
  }
}
