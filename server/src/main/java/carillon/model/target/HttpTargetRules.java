package carillon.model.target;

import carillon.model.Echo;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Validates HTTP targets. Does not resolve names: the addresses are vetted by every attempt.
 *
 * @param requiresTls whether only https is allowed
 * @param ownPorts ports of this machine that are not allowed
 */
public record HttpTargetRules(AddressRules addresses, boolean requiresTls, OwnPorts ownPorts) {

  private static final Set<String> METHODS = Set.of("POST", "PUT", "PATCH", "GET", "DELETE");
  private static final Set<String> METHODS_WITH_BODY = Set.of("POST", "PUT", "PATCH");

  public static final Duration MIN_TIMEOUT = Duration.ofSeconds(1);
  public static final Duration MAX_TIMEOUT = Duration.ofMinutes(30);
  public static final int MAX_HEADERS = 50;
  public static final int MAX_HEADER_BYTES = 8 * 1024;

  private static final Pattern TOKEN = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}");

  /**
   * Headers that frame the message, that Carillon sets, or that cloud metadata services require.
   */
  private static final Set<String> RESERVED =
      Set.of(
          "host",
          "content-length",
          "transfer-encoding",
          "connection",
          "keep-alive",
          "te",
          "trailer",
          "upgrade",
          "expect",
          "http2-settings",
          "accept-encoding",
          TraceParent.HEADER,
          "tracestate",
          "x-identity-header");

  private static final List<String> RESERVED_PREFIXES =
      List.of(
          "proxy-",
          "webhook-",
          "carillon-",
          "metadata",
          "x-amz-",
          "x-aws-",
          "x-ms-",
          "x-goog-",
          "x-google-metadata",
          "x-aliyun-");

  /** Names that resolve differently on every network. */
  private static final List<String> LOCAL_SUFFIXES =
      List.of(".internal", ".local", ".localdomain", ".lan", ".home.arpa");

  /** Databases, brokers and control planes, which must not receive our requests. */
  private static final Set<Integer> DENIED_PORTS =
      Set.of(
          1433, 1521, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 4369, 5432, 5671, 5672, 5984,
          6379, 6443, 7000, 7001, 8500, 9042, 9092, 9200, 9300, 10250, 10255, 11211, 25672, 27017,
          27018, 27019);

  /**
   * One error in a target.
   *
   * @param field the invalid part, such as "url" or "headers/X-Name"
   * @param code for programs
   * @param message for people
   */
  public record Problem(String field, String code, String message) {}

  public HttpTargetRules(AddressRules addresses) {
    this(addresses, false, new OwnPorts());
  }

  /** Whether an attempt may connect to this address of the target's host. */
  public boolean mayDial(TargetUrl url, InetAddress address) {
    boolean isOwn = address.isLoopbackAddress() && ownPorts.contains(url.port());
    return addresses.allows(url.host(), address) && (!isOwn || isNamed(url));
  }

  /** All errors; empty if the target is valid. */
  public List<Problem> check(Target.Http target) {
    List<Problem> problems = new ArrayList<>();
    checkUrl(target.url()).ifPresent(problems::add);
    checkMethod(target, problems);
    checkHeaders(target.headers(), problems);
    checkTimeout(target.timeout(), problems);
    return problems;
  }

  /** The first error in the URL. Checked again by every delivery. */
  public Optional<Problem> checkUrl(String url) {
    if (url.length() > TargetUrl.MAX_LENGTH) {
      return urlProblem(
          "url_too_long", "the URL is longer than " + TargetUrl.MAX_LENGTH + " characters");
    }
    return TargetUrl.parse(url)
        .map(parsed -> checkHost(parsed).or(() -> checkPort(parsed)))
        .orElseGet(() -> explain(url));
  }

  /** Whether requests with this method have a body. */
  public static boolean sendsBody(String method) {
    return METHODS_WITH_BODY.contains(method);
  }

  /** Whether targets may not set this header. */
  public static boolean isReserved(String header) {
    String name = header.toLowerCase(Locale.ROOT);
    return RESERVED.contains(name) || RESERVED_PREFIXES.stream().anyMatch(name::startsWith);
  }

  private Optional<Problem> checkHost(TargetUrl url) {
    if (requiresTls && !url.secure()) {
      return urlProblem("https_required", "the URL must start with https://");
    }
    String host = url.host();
    Optional<InetAddress> literal = url.literal();
    if (literal.isPresent()) {
      return addresses.allows(literal.get()) ? Optional.empty() : notAllowed(host);
    }
    if (AddressRules.endsInNumber(host)) {
      return urlProblem(
          "address_not_allowed",
          "\"%s\" is not allowed: write IPv4 addresses as four decimal numbers"
              .formatted(Echo.of(host)));
    }
    if (!AddressRules.isHostName(host)) {
      return urlProblem("scheme_or_host", "\"%s\" is not a host name".formatted(Echo.of(host)));
    }
    return isLocal(host) && !isReachable(url) ? notAllowed(host) : Optional.empty();
  }

  private Optional<Problem> checkPort(TargetUrl url) {
    int port = url.port();
    boolean inRange = port == 80 || port == 443 || (port >= 1024 && port <= 65535);
    boolean isDenied = DENIED_PORTS.contains(port) || (isThisMachine(url) && isOwn(port));
    if (inRange && (!isDenied || isNamed(url))) {
      return Optional.empty();
    }
    return urlProblem(
        "port_not_allowed",
        inRange && isThisMachine(url)
            ? "port %d of this machine is not allowed: it belongs to Carillon, a database or a broker"
                .formatted(port)
            : "port %d is not allowed: use 80, 443, or one from 1024 that no database or broker uses"
                .formatted(port));
  }

  private boolean isOwn(int port) {
    return ownPorts.contains(port);
  }

  /**
   * Whether the operator allowed this host or address by name. A range allows a network, but not
   * every database in it.
   */
  private boolean isNamed(TargetUrl url) {
    return addresses.allowsHost(url.host())
        || (isLocalhost(url.host()) && addresses.names(InetAddress.getLoopbackAddress()))
        || url.literal().filter(addresses::names).isPresent();
  }

  /** Whether the operator allowed this local name. */
  private boolean isReachable(TargetUrl url) {
    return addresses.allowsHost(url.host())
        || (isLocalhost(url.host()) && addresses.allows(InetAddress.getLoopbackAddress()));
  }

  private static boolean isThisMachine(TargetUrl url) {
    return isLocalhost(url.host())
        || url.literal().filter(InetAddress::isLoopbackAddress).isPresent();
  }

  private static boolean isLocal(String host) {
    return isLocalhost(host)
        || !host.contains(".")
        || LOCAL_SUFFIXES.stream().anyMatch(host::endsWith);
  }

  private static boolean isLocalhost(String host) {
    return host.equals("localhost") || host.endsWith(".localhost");
  }

  /** Explains why a URL is invalid, without quoting a part that may contain a password. */
  private static Optional<Problem> explain(String url) {
    if (!url.chars().allMatch(c -> c > ' ' && c <= '~' && c != '\\')) {
      return urlProblem(
          "invalid_url",
          "the URL has a space, backslash, control or non-ASCII character: percent-encode it");
    }
    String[] parts = url.split("://", 2);
    String scheme = parts[0].toLowerCase(Locale.ROOT);
    String authority = parts.length < 2 ? "" : parts[1].split("[/?#]", 2)[0];
    if (!(scheme.equals("http") || scheme.equals("https")) || authority.isEmpty()) {
      return urlProblem("scheme_or_host", "the URL must start with http:// or https:// and a host");
    }
    if (authority.contains("@")) {
      return urlProblem("userinfo_not_allowed", "the URL must not carry a user or password");
    }
    if (url.contains("#")) {
      return urlProblem("fragment_not_allowed", "the URL must not have a fragment");
    }
    if (authority.startsWith("[")) {
      return notAllowed(authority);
    }
    if (!authority.matches("[A-Za-z0-9._-]+(:[0-9]{1,5})?")) {
      return urlProblem("scheme_or_host", "\"%s\" is not a host".formatted(Echo.of(authority)));
    }
    return urlProblem(
        "invalid_url", "the path or query has a character that must be percent-encoded");
  }

  private static void checkMethod(Target.Http target, List<Problem> problems) {
    if (!METHODS.contains(target.method())) {
      problems.add(
          new Problem(
              "method",
              "invalid_method",
              "\"%s\" is not one of POST, PUT, PATCH, GET, DELETE"
                  .formatted(Echo.of(target.method()))));
    } else if (target.body() != null && !sendsBody(target.method())) {
      problems.add(
          new Problem("body", "body_not_allowed", target.method() + " is sent without a body"));
    }
  }

  private static void checkHeaders(Map<String, String> headers, List<Problem> problems) {
    if (headers.size() > MAX_HEADERS) {
      problems.add(
          new Problem(
              "headers", "too_many_headers", "there are more than " + MAX_HEADERS + " headers"));
      return;
    }
    int bytes = 0;
    Set<String> seen = new HashSet<>();
    for (Map.Entry<String, String> header : headers.entrySet()) {
      String name = header.getKey();
      // 4 for ": " and the line end.
      bytes += name.length() + header.getValue().length() + 4;
      if (!TOKEN.matcher(name).matches()) {
        problems.add(headerProblem(name, "invalid_header", "this is not a header name"));
      } else if (isReserved(name)) {
        problems.add(headerProblem(name, "reserved_header", "this header cannot be set"));
      } else if (!seen.add(name.toLowerCase(Locale.ROOT))) {
        problems.add(headerProblem(name, "invalid_header", "this header is set twice"));
      } else if (!isHeaderValue(header.getValue())) {
        problems.add(
            headerProblem(
                name, "invalid_header", "the value has a control or non-ASCII character"));
      }
    }
    if (bytes > MAX_HEADER_BYTES) {
      problems.add(
          new Problem(
              "headers",
              "headers_too_large",
              "the headers take more than " + MAX_HEADER_BYTES + " bytes together"));
    }
  }

  private static boolean isHeaderValue(String value) {
    return value.chars().allMatch(c -> c == '\t' || (c >= ' ' && c <= '~'));
  }

  private static void checkTimeout(@Nullable Duration timeout, List<Problem> problems) {
    if (timeout != null
        && (timeout.compareTo(MIN_TIMEOUT) < 0 || timeout.compareTo(MAX_TIMEOUT) > 0)) {
      problems.add(
          new Problem("timeout", "invalid_timeout", "the timeout must be from 1 s to 30 min"));
    }
  }

  private static Problem headerProblem(String name, String code, String message) {
    return new Problem("headers/" + Echo.of(name), code, message);
  }

  private static Optional<Problem> urlProblem(String code, String message) {
    return Optional.of(new Problem("url", code, message));
  }

  private static Optional<Problem> notAllowed(String host) {
    return urlProblem(
        "address_not_allowed",
        "\"%s\" is not an address that deliveries may reach".formatted(Echo.of(host)));
  }
}
