package carillon.chaos.cluster;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Base64;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.MissingNode;

/**
 * An HTTP/1.1 request, read from a socket.
 *
 * @param headers by lower-case names
 */
public record Request(String path, Map<String, String> headers, String body) {

  private static final int MAX_LINE = 16 * 1024;

  /** Reads the next request of a connection; null at its end. */
  public static @Nullable Request read(InputStream in) throws IOException {
    String start = line(in);
    if (start == null) {
      return null;
    }
    String[] words = start.split(" ", -1);
    if (words.length != 3) {
      throw new IOException("This is not an HTTP request: " + start);
    }
    Map<String, String> headers = new HashMap<>();
    for (String line = line(in); line != null && !line.isEmpty(); line = line(in)) {
      int colon = line.indexOf(':');
      headers.put(
          line.substring(0, colon).strip().toLowerCase(Locale.ROOT),
          line.substring(colon + 1).strip());
    }
    int length = Integer.parseInt(headers.getOrDefault("content-length", "0"));
    byte[] body = in.readNBytes(length);
    if (body.length < length) {
      throw new EOFException();
    }
    return new Request(words[1], headers, new String(body, StandardCharsets.UTF_8));
  }

  private static @Nullable String line(InputStream in) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int c = in.read(); c >= 0; c = in.read()) {
      if (c == '\n') {
        return line.toString().stripTrailing();
      }
      if (line.length() == MAX_LINE) {
        throw new IOException("A header line is too long.");
      }
      line.append((char) c);
    }
    return null;
  }

  public String header(String name) {
    return headers.getOrDefault(name, "");
  }

  public long number(String name) {
    String text = header(name);
    return text.isEmpty() ? -1 : Long.parseLong(text);
  }

  public JsonNode json() {
    try {
      return body.isEmpty() ? MissingNode.getInstance() : Api.JSON.readTree(body);
    } catch (JacksonException _) {
      return MissingNode.getInstance();
    }
  }

  /** Checks the signature of Standard Webhooks: HMAC-SHA256 of id, timestamp and body. */
  public boolean isSignedWith(String secret) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret), "HmacSHA256"));
      String signed = header("webhook-id") + "." + header("webhook-timestamp") + "." + body;
      byte[] hash = mac.doFinal(signed.getBytes(StandardCharsets.UTF_8));
      String expected = "v1," + Base64.getEncoder().encodeToString(hash);
      return (" " + header("webhook-signature") + " ").contains(" " + expected + " ");
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }
}
