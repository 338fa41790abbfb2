package carillon.delivery;

import carillon.model.HiddenValues;
import carillon.model.SecretUrl;
import carillon.model.Target;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The secrets of one request, to be taken out of what comes back: a target that echoes requests
 * would show them to everybody who may read its answers.
 */
record SentSecrets(List<String> values) {

  /** Shorter ones are found in texts that have nothing to do with them. */
  private static final int SHORTEST = 6;

  /** Of a secret that the end of the text cuts in two, so much is still worth hiding. */
  private static final int SHORTEST_BEGINNING = 4;

  /** Fewer characters are never cut off, whatever bytes they take. */
  private static final int SHORTEST_CUT = KeptBody.MAX_BYTES / 4;

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
                // "Bearer x": echoed with its scheme, or without.
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
    if (value.length() >= SHORTEST && !values.contains(value)) {
      values.add(value);
    }
  }

  boolean isEmpty() {
    return values.isEmpty();
  }

  /** The text without them, and no longer than it was. */
  String hiddenIn(String text) {
    String hidden = text;
    for (String value : values) {
      hidden = hidden.replace(value, HiddenValues.TEXT);
    }
    if (text.length() >= SHORTEST_CUT) {
      hidden = withoutBeginning(hidden);
    }
    if (hidden.length() <= text.length()) {
      return hidden;
    }
    int end = text.length();
    return hidden.substring(0, Character.isHighSurrogate(hidden.charAt(end - 1)) ? end - 1 : end);
  }

  /** What is kept of an answer may end in the middle of a secret. */
  private String withoutBeginning(String text) {
    for (String value : values) {
      int most = Math.min(value.length() - 1, text.length());
      for (int length = most; length >= SHORTEST_BEGINNING; length--) {
        if (text.endsWith(value.substring(0, length))) {
          return text.substring(0, text.length() - length) + HiddenValues.TEXT;
        }
      }
    }
    return text;
  }
}
