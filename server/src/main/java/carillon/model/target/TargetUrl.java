package carillon.model.target;

import java.net.InetAddress;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The parts of an HTTP target's URL, parsed the same way by validation and delivery.
 *
 * @param host in lower case, without brackets and without a trailing dot
 * @param path with the query; never empty
 * @param literal the host's address, if it is an address and not a name
 */
public record TargetUrl(
    boolean secure, String host, int port, String path, Optional<InetAddress> literal) {

  public static final int MAX_LENGTH = 2048;

  // Stricter than java.net.URI, which accepts "http://127.0.0.1#@public.example/" and finds no host
  // in "http://2130706433/". Syntax that is not matched here (user info, fragment, backslash,
  // space,
  // zone) cannot be interpreted differently by another parser.
  private static final Pattern SHAPE =
      Pattern.compile(
          "(?<scheme>https?)://"
              + "(?<host>\\[[0-9a-f.]*:[0-9a-f:.]*]|[a-z0-9._-]+)"
              + "(?::(?<port>[0-9]{1,5}))?"
              + "(?<path>[/?](?:[a-z0-9._~:/?\\[\\]@!$&'()*+,;=-]++|%[0-9a-f]{2})*+)?",
          Pattern.CASE_INSENSITIVE);

  /** Empty if the URL is invalid. Does not check whether it is allowed. */
  public static Optional<TargetUrl> parse(String url) {
    Matcher shape = SHAPE.matcher(url);
    if (url.length() > MAX_LENGTH || !shape.matches()) {
      return Optional.empty();
    }
    boolean secure = shape.group("scheme").toLowerCase(Locale.ROOT).equals("https");
    String written = shape.group("host");
    boolean isBracketed = written.startsWith("[");
    String host =
        isBracketed
            ? written.substring(1, written.length() - 1).toLowerCase(Locale.ROOT)
            : AddressRules.normalised(written);
    Optional<InetAddress> literal = literal(host);
    if (isBracketed && literal.isEmpty()) {
      return Optional.empty();
    }
    String port = shape.group("port");
    String path = shape.group("path");
    return Optional.of(
        new TargetUrl(
            secure,
            host,
            port == null ? defaultPort(secure) : Integer.parseInt(port),
            path == null ? "/" : path.startsWith("/") ? path : "/" + path,
            literal));
  }

  /** The value of the Host header. */
  public String authority() {
    String name = host.contains(":") ? "[" + host + "]" : host;
    return port == defaultPort(secure) ? name : name + ":" + port;
  }

  private static Optional<InetAddress> literal(String host) {
    if (!host.contains(":") && !AddressRules.isDottedQuad(host)) {
      return Optional.empty();
    }
    try {
      return Optional.of(InetAddress.ofLiteral(host));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  private static int defaultPort(boolean secure) {
    return secure ? 443 : 80;
  }
}
