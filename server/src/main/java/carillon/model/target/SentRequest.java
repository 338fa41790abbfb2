package carillon.model.target;

/**
 * Describes the request of an attempt as JSON text without secrets: {@code {"method", "url",
 * "headers"}}. Written by hand, because it runs for every attempt.
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

  /** Adds a header; hides its value if its name looks secret. */
  public SentRequest header(String name, String value) {
    return header(name, value, SecretNames.isHeader(name));
  }

  /** Adds a header; hides its value if it is secret. */
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

  public String text() {
    return json.append("}}").toString();
  }

  private static String shortened(String value) {
    return value.length() <= MAX_VALUE ? value : value.substring(0, MAX_VALUE) + "...";
  }

  private void quote(String text) {
    json.append('"');
    int plain = 0; // almost always the whole text
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
