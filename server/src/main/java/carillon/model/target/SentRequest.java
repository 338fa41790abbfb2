package carillon.model.target;

/**
 * Writes down what an attempt sent, for people who ask later: {@code {"method", "url", "headers"}}
 * as JSON text, without secrets. Every attempt is kept so, and this is why it is written by hand.
 */
public final class SentRequest {

  private static final int MAX_VALUE = 256;
  private static final int TYPICAL_LENGTH = 256;

  private final StringBuilder json = new StringBuilder(TYPICAL_LENGTH);
  private boolean hasHeaders;

  public SentRequest(String method, String url) {
    json.append("{\"method\":");
    quote(method);
    json.append(",\"url\":");
    quote(SecretUrl.hidden(url));
    json.append(",\"headers\":{");
  }

  /** Adds a header, its value only if its name does not look secret. */
  public SentRequest header(String name, String value) {
    return header(name, value, SecretNames.isHeader(name));
  }

  /** Adds a header, its value only if that is no secret. */
  public SentRequest header(String name, String value, boolean isSecret) {
    if (hasHeaders) {
      json.append(',');
    }
    hasHeaders = true;
    quote(name);
    json.append(':');
    quote(isSecret ? HiddenValues.TEXT : shortened(value));
    return this;
  }

  /** The JSON. */
  public String text() {
    return json.append("}}").toString();
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
