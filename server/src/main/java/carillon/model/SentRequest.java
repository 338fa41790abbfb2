package carillon.model;

import java.util.List;

/**
 * Writes down what an attempt sent, for people who ask later: {@code {"method", "url", "headers"}}
 * as JSON text, without secrets. Every attempt is kept so, and this is why it is written by hand.
 */
public final class SentRequest {

  static final String HIDDEN = "(hidden)";

  private static final int MAX_VALUE = 256;
  private static final int TYPICAL_LENGTH = 256;

  /** What names of secret things contain; the dashboard's {@code target.js} has them, too. */
  static final List<String> SECRET =
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

  /** Parameters of URLs that are signed in the query. */
  static final List<String> SECRET_PARAMETERS = List.of("sig", "code", "pass");

  /** Of ASCII letters, those with which a secret word begins. */
  private static final boolean[] BEGINNINGS = beginnings();

  private final StringBuilder json = new StringBuilder(TYPICAL_LENGTH);
  private boolean hasHeaders;

  public SentRequest(String method, String url) {
    json.append("{\"method\":");
    quote(method);
    json.append(",\"url\":");
    quote(withoutSecrets(url));
    json.append(",\"headers\":{");
  }

  private static boolean[] beginnings() {
    boolean[] beginnings = new boolean[128];
    for (String word : SECRET) {
      beginnings[word.charAt(0)] = true;
      beginnings[Character.toUpperCase(word.charAt(0))] = true;
    }
    return beginnings;
  }

  /** Adds a header, its value only if its name does not look secret. */
  public SentRequest header(String name, String value) {
    if (hasHeaders) {
      json.append(',');
    }
    hasHeaders = true;
    quote(name);
    json.append(':');
    quote(isSecret(name) ? HIDDEN : shortened(value));
    return this;
  }

  /** The JSON. */
  public String text() {
    return json.append("}}").toString();
  }

  /** Whether what has this name should be shown to nobody. Rather one too many. */
  static boolean isSecret(String name) {
    for (int at = 0; at < name.length(); at++) {
      if (mayBegin(name.charAt(at)) && isSecretWordAt(name, at)) {
        return true;
      }
    }
    return false;
  }

  /** Whether it is worth comparing: of the letters of a header's name, most are not. */
  private static boolean mayBegin(char c) {
    return c >= BEGINNINGS.length || BEGINNINGS[c];
  }

  private static boolean isSecretWordAt(String name, int at) {
    for (String word : SECRET) {
      if (name.regionMatches(true, at, word, 0, word.length())) {
        return true;
      }
    }
    return false;
  }

  /** The URL without user info, and without the values of parameters whose name looks secret. */
  public static String withoutSecrets(String url) {
    int query = url.indexOf('?');
    String place = query < 0 ? url : url.substring(0, query);
    int host = place.indexOf("://") + 3;
    int path = place.indexOf('/', host);
    int at = place.lastIndexOf('@', path < 0 ? place.length() : path);
    String shown = at < host ? place : place.substring(0, host) + HIDDEN + place.substring(at);
    return query < 0 ? shown : shown + parameters(url.substring(query));
  }

  private static String parameters(String query) {
    if (query.indexOf('=') < 0) {
      return query;
    }
    StringBuilder shown = new StringBuilder(query.length());
    int start = 0;
    while (start < query.length()) {
      int next = query.indexOf('&', start + 1);
      int end = next < 0 ? query.length() : next;
      int equals = query.indexOf('=', start);
      if (equals > start && equals < end && isSecretParameter(query.substring(start + 1, equals))) {
        shown.append(query, start, equals + 1).append(HIDDEN);
      } else {
        shown.append(query, start, end);
      }
      start = end;
    }
    return shown.toString();
  }

  private static boolean isSecretParameter(String name) {
    // What is encoded may be anything.
    return name.indexOf('%') >= 0
        || isSecret(name)
        || SECRET_PARAMETERS.stream().anyMatch(name::equalsIgnoreCase);
  }

  private static String shortened(String value) {
    return value.length() <= MAX_VALUE ? value : value.substring(0, MAX_VALUE) + "...";
  }

  private void quote(String text) {
    json.append('"');
    int plain = 0; // nearly always all of it
    while (plain < text.length() && isPlain(text.charAt(plain))) {
      plain++;
    }
    json.append(text, 0, plain);
    for (int i = plain; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        json.append('\\').append(c);
      } else if (c < ' ' || (c >= 0x7f && c < 0xa0)) {
        json.append("\\u%04x".formatted((int) c));
      } else if (Character.isSurrogate(c)) {
        int character = text.codePointAt(i);
        boolean isHalf = Character.isBmpCodePoint(character);
        json.appendCodePoint(isHalf ? 0xfffd : character);
        i += isHalf ? 0 : 1;
      } else {
        json.append(c);
      }
    }
    json.append('"');
  }

  private static boolean isPlain(char c) {
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
  }
}
