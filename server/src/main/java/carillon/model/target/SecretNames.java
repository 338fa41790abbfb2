package carillon.model.target;

import java.util.List;

/**
 * Decides whether the name of a header or URL parameter suggests a secret value; false positives
 * are harmless. The dashboard's {@code target.js} has the same lists.
 */
final class SecretNames {

  /** Matched anywhere in a name. */
  static final List<String> PARTS =
      List.of(
          "auth",
          "cookie",
          "token",
          "secret",
          "key",
          "passw",
          "passphrase",
          "signature",
          "session",
          "credential",
          "jwt",
          "bearer",
          "otp",
          "csrf",
          "xsrf",
          "sign",
          "hmac",
          "pwd",
          "passc");

  /** Too short to be matched inside words: X-Webhook-Sig is secret, X-Sigma is not. */
  static final List<String> WORDS = List.of("sig", "pass", "pw", "pin", "sid", "sas");

  /** For parameters only: OAuth's code is secret, X-Country-Code is not. */
  static final List<String> PARAMETERS = List.of("code");

  /** The first letters of all parts and words, to skip most positions of a name quickly. */
  private static final boolean[] BEGINNINGS = beginnings();

  private SecretNames() {}

  private static boolean[] beginnings() {
    boolean[] beginnings = new boolean[128];
    for (List<String> words : List.of(PARTS, WORDS)) {
      for (String word : words) {
        beginnings[word.charAt(0)] = true;
        beginnings[Character.toUpperCase(word.charAt(0))] = true;
      }
    }
    return beginnings;
  }

  static boolean isHeader(String name) {
    for (int at = 0; at < name.length(); at++) {
      if (mayBegin(name.charAt(at)) && (isPartAt(name, at) || isWordAt(name, at))) {
        return true;
      }
    }
    return false;
  }

  static boolean isParameter(String name) {
    // An encoded name may be any name.
    return name.indexOf('%') >= 0
        || isHeader(name)
        || PARAMETERS.stream().anyMatch(name::equalsIgnoreCase);
  }

  private static boolean mayBegin(char c) {
    return c >= BEGINNINGS.length || BEGINNINGS[c];
  }

  private static boolean isPartAt(String name, int at) {
    for (String part : PARTS) {
      if (name.regionMatches(true, at, part, 0, part.length())) {
        return true;
      }
    }
    return false;
  }

  private static boolean isWordAt(String name, int at) {
    if (at > 0 && !isBoundary(name.charAt(at - 1), name.charAt(at))) {
      return false;
    }
    for (String word : WORDS) {
      int end = at + word.length();
      if (name.regionMatches(true, at, word, 0, word.length())
          && (end == name.length() || isBoundary(name.charAt(end - 1), name.charAt(end)))) {
        return true;
      }
    }
    return false;
  }

  /** A word boundary, as in X-Webhook-Sig, webhook_sig and webhookSig. */
  private static boolean isBoundary(char before, char after) {
    return !Character.isLetter(before)
        || !Character.isLetter(after)
        || (Character.isLowerCase(before) && Character.isUpperCase(after));
  }
}
