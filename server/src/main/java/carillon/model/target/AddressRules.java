package carillon.model.target;

import carillon.model.Echo;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The addresses that deliveries may connect to: public ones, and those that the operator allows.
 *
 * <p>Ranges that are not public are listed below, from the IANA special-purpose registries. Of
 * IPv6, only global unicast is public; prefixes that embed an IPv4 address are not, because they
 * would bypass the IPv4 list.
 *
 * <p>The metadata services of clouds hand out the machine's credentials. They are allowed only if
 * the operator lists their exact address: neither a range nor a host name allows them by accident.
 */
public final class AddressRules {

  private static final String LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?";

  private static final Pattern HOST_NAME =
      Pattern.compile("(?=.{1,253}$)" + LABEL + "(?:\\." + LABEL + ")*");

  private static final Pattern DOTTED_QUAD =
      Pattern.compile("(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\\.(?!$)|$)){4}");

  private static final Pattern ENDS_IN_NUMBER = Pattern.compile("(?:.*\\.)?(?:[0-9]+|0x[0-9a-f]*)");

  private static final List<Range> NOT_PUBLIC =
      ranges(
          "0.0.0.0/8",
          "10.0.0.0/8",
          "100.64.0.0/10",
          "127.0.0.0/8",
          "168.63.129.16/32", // Azure's WireServer, in a public range
          "169.254.0.0/16",
          "172.16.0.0/12",
          "192.0.0.0/24",
          "192.0.2.0/24",
          "192.88.99.0/24",
          "192.168.0.0/16",
          "198.18.0.0/15",
          "198.51.100.0/24",
          "203.0.113.0/24",
          "224.0.0.0/4",
          "240.0.0.0/4",
          // All but 2000::/3: unspecified, loopback, NAT64, discard, segment routing, unique and
          // link local, multicast, and unassigned.
          "::/3",
          "4000::/2",
          "8000::/1",
          // Teredo, benchmarking, ORCHID and other protocol assignments.
          "2001::/23",
          "2001:db8::/32",
          // 6to4.
          "2002::/16",
          "3fff::/20");

  /** Metadata, credential and platform services of clouds, public or not. */
  private static final List<Range> METADATA =
      ranges(
          "169.254.169.254", // AWS, Azure, Google, Oracle, OpenStack, DigitalOcean and many more
          "169.254.170.2", // AWS: credentials of ECS tasks
          "169.254.170.23", // AWS: credentials of EKS pods
          "169.254.0.23", // Tencent
          "169.254.42.42", // Scaleway
          "168.63.129.16", // Azure: WireServer
          "100.100.100.200", // Alibaba
          "100.96.0.96", // Volcengine
          "192.0.0.192", // Oracle, first generation
          "fd00:ec2::254", // AWS
          "fd00:ec2::23", // AWS: credentials of EKS pods
          "fd20:ce::254", // Google
          "fd00:c1::a9fe:a9fe", // Oracle
          "fd00:42::42", // Scaleway
          "fd00:a9fe:a9fe::1", // Akamai
          "fe80::a9fe:a9fe"); // OpenStack

  private static final List<Range> LOOPBACK = ranges("127.0.0.0/8", "::1/128");

  private static final byte[] V4_MAPPED = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1};

  public static final AddressRules PUBLIC_ONLY = new AddressRules(List.of(), Set.of());

  private final List<Range> allowed;
  private final Set<String> allowedHosts;

  private AddressRules(List<Range> allowed, Set<String> allowedHosts) {
    this.allowed = List.copyOf(allowed);
    this.allowedHosts = Set.copyOf(allowedHosts);
  }

  /**
   * Allows public addresses and the given CIDR ranges, addresses and host names.
   *
   * @throws IllegalArgumentException if an entry is invalid; the message names it and the reason
   */
  public static AddressRules of(List<String> allowTargets) {
    List<Range> ranges = new ArrayList<>();
    Set<String> hosts = new HashSet<>();
    for (String entry : allowTargets) {
      String target = normalised(entry.strip());
      if (target.contains("/") || target.contains(":") || endsInNumber(target)) {
        ranges.add(Range.parse(target));
      } else if (isHostName(target)) {
        hosts.add(target);
      } else {
        throw new IllegalArgumentException(
            ("allowed target \"%s\" is neither a CIDR range such as 10.0.0.0/8 nor a host name;"
                    + " wildcards are not supported")
                .formatted(Echo.of(entry)));
      }
    }
    return new AddressRules(ranges, hosts);
  }

  /** These rules plus all loopback addresses. */
  public AddressRules withLoopback() {
    List<Range> ranges = new ArrayList<>(allowed);
    ranges.addAll(LOOPBACK);
    return new AddressRules(ranges, allowedHosts);
  }

  public boolean allows(InetAddress address) {
    InetAddress plain = withoutMapping(address);
    if (names(plain)) {
      return true;
    }
    if (isMetadata(plain)) {
      return false;
    }
    if (allowed.stream().anyMatch(range -> range.contains(plain))) {
      return true;
    }
    return !isScoped(plain) && NOT_PUBLIC.stream().noneMatch(range -> range.contains(plain));
  }

  /** Whether deliveries to this host may connect to this address, which it resolved to. */
  public boolean allows(String host, InetAddress address) {
    return allows(address) || (allowsHost(host) && !isMetadata(withoutMapping(address)));
  }

  /**
   * Whether the operator listed this exact address, and not only a range that contains it. An entry
   * with a prefix is always a range: {@code ::1/128}, the default, names no address.
   */
  public boolean names(InetAddress address) {
    InetAddress plain = withoutMapping(address);
    return allowed.stream().anyMatch(range -> range.isAddress() && range.contains(plain));
  }

  /** Whether this is the address of a metadata service, or embeds one. */
  private static boolean isMetadata(InetAddress plain) {
    return METADATA.stream().anyMatch(range -> range.contains(plain))
        || EmbeddedAddress.in(plain).stream()
            .anyMatch(inner -> METADATA.stream().anyMatch(range -> range.contains(inner)));
  }

  /** Whether the operator listed this host, which may then resolve to anything but metadata. */
  public boolean allowsHost(String host) {
    return allowedHosts.contains(normalised(host));
  }

  /** Names are compared in lower case and without a trailing dot. */
  static String normalised(String host) {
    String lower = host.toLowerCase(Locale.ROOT);
    return lower.endsWith(".") ? lower.substring(0, lower.length() - 1) : lower;
  }

  static boolean isHostName(String normalised) {
    return HOST_NAME.matcher(normalised).matches() && !endsInNumber(normalised);
  }

  /** Whether a resolver may take the host for an IPv4 address in some notation. */
  static boolean endsInNumber(String normalised) {
    return ENDS_IN_NUMBER.matcher(normalised).matches();
  }

  /** Whether the host is an IPv4 address in the only unambiguous notation. */
  static boolean isDottedQuad(String host) {
    return DOTTED_QUAD.matcher(host).matches();
  }

  private static boolean isScoped(InetAddress address) {
    return address instanceof Inet6Address six
        && (six.getScopeId() != 0 || six.getScopedInterface() != null);
  }

  private static InetAddress withoutMapping(InetAddress address) {
    byte[] bytes = address.getAddress();
    if (bytes.length != 16 || !Arrays.equals(bytes, 0, 12, V4_MAPPED, 0, 12)) {
      return address;
    }
    try {
      return InetAddress.getByAddress(Arrays.copyOfRange(bytes, 12, 16));
    } catch (UnknownHostException e) {
      throw new IllegalStateException("four bytes are always an address", e);
    }
  }

  private static List<Range> ranges(String... cidrs) {
    return Arrays.stream(cidrs).map(Range::parse).toList();
  }

  /**
   * The addresses that share their first {@code bits} bits with {@code network}.
   *
   * @param isAddress whether it was written as a single address, without a prefix length
   */
  private record Range(InetAddress network, int bits, boolean isAddress) {

    private static final Pattern CIDR = Pattern.compile("([0-9a-f.:]+)(?:/([0-9]{1,3}))?");

    static Range parse(String text) {
      var cidr = CIDR.matcher(text);
      if (!cidr.matches()) {
        throw invalid(text, "write it as 10.0.0.0/8 or fd00::/8");
      }
      InetAddress network = address(text, cidr.group(1));
      int width = network.getAddress().length * 8;
      int bits = cidr.group(2) == null ? width : Integer.parseInt(cidr.group(2));
      if (bits > width) {
        throw invalid(text, "the prefix is longer than the address, which has " + width + " bits");
      }
      var range = new Range(network, bits, cidr.group(2) == null);
      if (!range.hasOnlyPrefix()) {
        throw invalid(text, "the address has bits set beyond its prefix");
      }
      return range;
    }

    private static InetAddress address(String text, String literal) {
      if (!literal.contains(":") && !isDottedQuad(literal)) {
        throw invalid(text, "write IPv4 addresses as four decimal numbers");
      }
      try {
        return InetAddress.ofLiteral(literal);
      } catch (IllegalArgumentException e) {
        throw invalid(text, "it is not an address");
      }
    }

    private static IllegalArgumentException invalid(String text, String why) {
      return new IllegalArgumentException(
          "allowed target \"%s\" is not a range of addresses: %s".formatted(Echo.of(text), why));
    }

    private boolean hasOnlyPrefix() {
      byte[] bytes = network.getAddress();
      for (int bit = bits; bit < bytes.length * 8; bit++) {
        if ((bytes[bit / 8] & (0x80 >> bit % 8)) != 0) {
          return false;
        }
      }
      return true;
    }

    boolean contains(InetAddress address) {
      byte[] ours = network.getAddress();
      byte[] theirs = address.getAddress();
      if (ours.length != theirs.length) {
        return false;
      }
      int whole = bits / 8;
      if (!Arrays.equals(ours, 0, whole, theirs, 0, whole)) {
        return false;
      }
      int rest = bits % 8;
      return rest == 0 || ((ours[whole] ^ theirs[whole]) & 0xFF) >>> (8 - rest) == 0;
    }
  }
}
