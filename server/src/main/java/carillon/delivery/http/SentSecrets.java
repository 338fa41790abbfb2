package carillon.delivery.http;

import carillon.model.target.SecretUrl;
import carillon.model.target.Target;
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

  /** The text without them, in whatever way it writes them, and no longer than it was. */
  String hiddenIn(String text) {
    String hidden = text;
    for (EchoedText.Encoding encoding : EchoedText.Encoding.values()) {
      if (encoding.isIn(hidden)) {
        hidden = hiddenIn(EchoedText.of(hidden, encoding), text.length() >= SHORTEST_CUT);
      }
    }
    if (hidden.length() <= text.length()) {
      return hidden;
    }
    int end = text.length();
    return hidden.substring(0, Character.isHighSurrogate(hidden.charAt(end - 1)) ? end - 1 : end);
  }

  private String hiddenIn(EchoedText text, boolean mayBeCut) {
    EchoedText hidden = text;
    for (String value : values) {
      hidden = hidden.without(value);
    }
    return (mayBeCut ? withoutBeginning(hidden) : hidden).written();
  }

  /** What is kept of an answer may end in the middle of a secret. */
  private EchoedText withoutBeginning(EchoedText text) {
    for (String value : values) {
      EchoedText without = text.withoutBeginningOf(value, SHORTEST_BEGINNING);
      if (without != null) {
        return without;
      }
    }
    return text;
  }
}
