package carillon.model.target;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigInteger;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AddressRulesTest {

  @ParameterizedTest
  @ValueSource(
      strings = {
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.0",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.0.0",
        "169.254.169.254",
        "169.254.255.255",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.0",
        "192.0.0.255",
        "192.0.2.0",
        "192.0.2.255",
        "192.88.99.0",
        "192.88.99.255",
        "192.168.0.0",
        "192.168.255.255",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.0",
        "198.51.100.255",
        "203.0.113.0",
        "203.0.113.255",
        "224.0.0.0",
        "239.255.255.255",
        "240.0.0.0",
        "255.255.255.255",
        "168.63.129.16"
      })
  void special_ipv4_addresses_are_denied(String address) {
    assertThat(AddressRules.PUBLIC_ONLY.allows(InetAddress.ofLiteral(address))).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.5",
        "::7f00:1",
        "64:ff9b::",
        "64:ff9b::a00:5",
        "64:ff9b:1::",
        "64:ff9b:1:ffff::1",
        "100::",
        "100::ffff:ffff:ffff:ffff",
        "2001::",
        "2001:0:ffff::1",
        "2001:1ff:ffff::1",
        "2001:db8::",
        "2001:db8:ffff::1",
        "2002::",
        "2002:a00:5::1",
        "2002:ffff:ffff::1",
        "3fff::",
        "3fff:fff:ffff::1",
        "4000::",
        "5f00::",
        "5f00:ffff::1",
        "fc00::",
        "fd00:ec2::254",
        "fdff:ffff::1",
        "fe80::",
        "fe80::1",
        "febf:ffff::1",
        "fec0::",
        "feff:ffff::1",
        "ff00::",
        "ff02::1",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
      })
  void special_ipv6_addresses_are_denied(String address) {
    assertThat(AddressRules.PUBLIC_ONLY.allows(InetAddress.ofLiteral(address))).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1.0.0.0",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "2000::",
        "2001:200::",
        "2001:db7:ffff::1",
        "2001:db9::",
        "2003::",
        "2606:4700:4700::1111",
        "3ffe:ffff::1",
        "3fff:1000::",
        "::ffff:8.8.8.8"
      })
  void public_addresses_are_allowed(String address) {
    assertThat(AddressRules.PUBLIC_ONLY.allows(InetAddress.ofLiteral(address))).isTrue();
  }

  @Test
  void an_ipv4_mapped_ipv6_address_is_treated_as_ipv4() throws UnknownHostException {
    byte[] mapped = new byte[16];
    mapped[10] = mapped[11] = -1;
    mapped[12] = 127;
    mapped[15] = 1;

    InetAddress address = Inet6Address.getByAddress(null, mapped, -1);

    assertThat(address).isInstanceOf(Inet6Address.class);
    assertThat(AddressRules.PUBLIC_ONLY.allows(address)).isFalse();
    assertThat(AddressRules.PUBLIC_ONLY.withLoopback().allows(address)).isTrue();
  }

  @Test
  void a_scoped_address_is_never_public() throws UnknownHostException {
    byte[] bytes = InetAddress.ofLiteral("2606:4700:4700::1111").getAddress();

    assertThat(AddressRules.PUBLIC_ONLY.allows(Inet6Address.getByAddress(null, bytes, 2)))
        .isFalse();
  }

  @Test
  void random_addresses_are_allowed_if_and_only_if_no_listed_prefix_matches()
      throws UnknownHostException {
    var random = new Random(20261115);

    for (int i = 0; i < 20_000; i++) {
      byte[] bytes = new byte[random.nextBoolean() ? 4 : 16];
      random.nextBytes(bytes);
      startLikeSomeListedPrefix(bytes, random);
      InetAddress address = InetAddress.getByAddress(bytes);

      assertThat(AddressRules.PUBLIC_ONLY.allows(address))
          .as(address.getHostAddress())
          .isEqualTo(!PrefixList.holds(address));
    }
  }

  /** Most random addresses are far from every boundary, so half of them are moved near one. */
  private static void startLikeSomeListedPrefix(byte[] bytes, Random random) {
    if (random.nextBoolean()) {
      String prefix = PrefixList.BITS.get(random.nextInt(PrefixList.BITS.size()));
      String bits = prefix.substring(prefix.indexOf(':') + 1);
      if (prefix.startsWith("4:") == (bytes.length == 4)) {
        for (int bit = 0; bit < bits.length(); bit++) {
          boolean flip = random.nextInt(30) == 0;
          int mask = 0x80 >> bit % 8;
          boolean one = (bits.charAt(bit) == '1') != flip;
          bytes[bit / 8] = (byte) (one ? bytes[bit / 8] | mask : bytes[bit / 8] & ~mask);
        }
      }
    }
  }

  @Test
  void only_addresses_that_the_operator_allows_are_added() {
    var rules = AddressRules.of(List.of("10.1.0.0/16", "192.168.7.9", "fd12::/16"));

    assertThat(List.of("10.1.0.0", "10.1.255.255", "192.168.7.9", "fd12::1", "8.8.8.8"))
        .allMatch(address -> rules.allows(InetAddress.ofLiteral(address)));
    assertThat(List.of("10.0.255.255", "10.2.0.0", "192.168.7.8", "fd13::1", "127.0.0.1"))
        .noneMatch(address -> rules.allows(InetAddress.ofLiteral(address)));
  }

  /** Documented addresses of cloud providers, in every form that embeds an IPv4 address. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "AWS, Azure, Google, Oracle, OpenStack, DigitalOcean, Hetzner, IBM | 169.254.169.254",
        "AWS ECS | 169.254.170.2",
        "AWS EKS | 169.254.170.23",
        "AWS | fd00:ec2::254",
        "AWS EKS | fd00:ec2::23",
        "Azure WireServer | 168.63.129.16",
        "Alibaba | 100.100.100.200",
        "Volcengine | 100.96.0.96",
        "Oracle, first generation | 192.0.0.192",
        "Oracle | fd00:c1::a9fe:a9fe",
        "Google | fd20:ce::254",
        "Tencent | 169.254.0.23",
        "Scaleway | 169.254.42.42",
        "Scaleway | fd00:42::42",
        "Akamai | fd00:a9fe:a9fe::1",
        "OpenStack | fe80::a9fe:a9fe"
      })
  void a_metadata_service_is_allowed_only_by_its_exact_address(String cloud, String address) {
    var everything =
        AddressRules.of(
            List.of("0.0.0.0/0", "::/0", "169.254.0.0/16", "168.63.129.0/24", "hooks.corp"));
    var exact = AddressRules.of(List.of(address));

    for (InetAddress form : forms(InetAddress.ofLiteral(address))) {
      assertThat(AddressRules.PUBLIC_ONLY.allows(form)).as("%s %s", cloud, form).isFalse();
      assertThat(everything.allows(form)).as("%s %s", cloud, form).isFalse();
      assertThat(everything.allows("hooks.corp", form)).as("%s %s", cloud, form).isFalse();
    }
    assertThat(exact.allows(InetAddress.ofLiteral(address))).isTrue();
    assertThat(everything.allows(InetAddress.ofLiteral("169.254.1.1"))).isTrue();
    assertThat(everything.allows(InetAddress.ofLiteral("64:ff9b::a00:5"))).isTrue();
    assertThat(everything.allows("hooks.corp", InetAddress.ofLiteral("10.0.0.5"))).isTrue();
  }

  private static List<InetAddress> forms(InetAddress address) {
    byte[] b = address.getAddress();
    if (b.length == 16) {
      return List.of(address);
    }
    int high = (b[0] & 0xff) << 8 | (b[1] & 0xff);
    int low = (b[2] & 0xff) << 8 | (b[3] & 0xff);
    List<InetAddress> forms = new ArrayList<>(List.of(address));
    for (String form :
        List.of(
            "::ffff:%1$x:%2$x", // mapped
            "::%1$x:%2$x", // compatible
            "::ffff:0:%1$x:%2$x", // SIIT
            "64:ff9b::%1$x:%2$x", // NAT64
            "64:ff9b:1::%1$x:%2$x", // local-use NAT64
            "2002:%1$x:%2$x::1", // 6to4
            "2001:0:%1$x:%2$x::1", // the server of Teredo
            "2001:0:5ef5:79fd:0:59d:%3$x:%4$x", // the client of Teredo
            "fe80::5efe:%1$x:%2$x")) { // ISATAP
      forms.add(InetAddress.ofLiteral(form.formatted(high, low, high ^ 0xffff, low ^ 0xffff)));
    }
    // Local-use NAT64 with a prefix of 48 and of 56 bits, which skip the ninth byte.
    forms.add(
        InetAddress.ofLiteral("64:ff9b:1:%x:%x:%x::".formatted(high, low >> 8, (low & 0xff) << 8)));
    forms.add(InetAddress.ofLiteral("64:ff9b:1:%x:%x:%x::".formatted(high >> 8, high & 0xff, low)));
    return forms;
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1", "127.9.9.9", "::1"})
  void loopback_is_allowed_only_on_request(String address) {
    assertThat(AddressRules.PUBLIC_ONLY.allows(InetAddress.ofLiteral(address))).isFalse();
    assertThat(AddressRules.PUBLIC_ONLY.withLoopback().allows(InetAddress.ofLiteral(address)))
        .isTrue();
  }

  @Test
  void allowing_loopback_allows_no_other_address() {
    var rules = AddressRules.PUBLIC_ONLY.withLoopback();

    assertThat(List.of("10.0.0.1", "169.254.169.254", "::", "0.0.0.0", "fe80::1"))
        .noneMatch(address -> rules.allows(InetAddress.ofLiteral(address)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"hooks.corp", "HOOKS.corp", "hooks.corp.", "Hooks.Corp."})
  void host_names_are_compared_without_case_and_trailing_dot(String host) {
    assertThat(AddressRules.of(List.of("Hooks.Corp.")).allowsHost(host)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"corp", "a.hooks.corp", "hooks.corp.evil.example", "hooks.corp..", ""})
  void only_the_exact_name_is_allowed(String host) {
    assertThat(AddressRules.of(List.of("hooks.corp")).allowsHost(host)).isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "10.0.0.0/33 | longer than the address",
        "::/129 | longer than the address",
        "10.0.0.1/8 | bits set beyond",
        "fd00::1/8 | bits set beyond",
        "10.0/8 | four decimal numbers",
        "127.1 | four decimal numbers",
        "256.0.0.1 | four decimal numbers",
        "010.0.0.0/8 | four decimal numbers",
        "0x7f.0.0.1 | write it as",
        "10.0.0.0/ | write it as",
        "10.0.0.0/x | write it as",
        "fe80::1%eth0 | write it as",
        ":::/8 | not an address",
        "*.corp | wildcards are not supported",
        "a b | neither",
        "-a.corp | neither",
        "a..corp | neither",
        "'' | neither"
      })
  void the_error_for_an_invalid_entry_explains_it(String entry, String why) {
    assertThatThrownBy(() -> AddressRules.of(List.of("10.0.0.0/8", entry)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("\"" + entry + "\"")
        .hasMessageContaining(why);
  }

  /** The listed ranges as bit strings, compared as text: shares no code with the rules. */
  private static final class PrefixList {

    static final List<String> BITS =
        List.of(
            v4(0, 8),
            v4(10 << 24, 8),
            v4(0x64400000, 10),
            v4(0x7F000000, 8),
            v4(0xA83F8110, 32),
            v4(0xA9FE0000, 16),
            v4(0xAC100000, 12),
            v4(0xC0000000, 24),
            v4(0xC0000200, 24),
            v4(0xC0586300, 24),
            v4(0xC0A80000, 16),
            v4(0xC6120000, 15),
            v4(0xC6336400, 24),
            v4(0xCB007100, 24),
            v4(0xE0000000, 4),
            v4(0xF0000000, 4),
            "6:000",
            "6:01",
            "6:1",
            v6("20010000", 23),
            v6("20010db8", 32),
            v6("20020000", 16),
            v6("3fff0000", 20));

    static boolean holds(InetAddress address) {
      byte[] bytes = address.getAddress();
      int width = bytes.length * 8;
      String bits = bits(new BigInteger(1, bytes), width);
      String family = width == 32 ? "4:" : "6:";
      return BITS.stream().anyMatch(prefix -> (family + bits).startsWith(prefix));
    }

    private static String v4(int address, int length) {
      return "4:"
          + bits(BigInteger.valueOf(Integer.toUnsignedLong(address)), 32).substring(0, length);
    }

    private static String v6(String hex, int length) {
      return "6:" + bits(new BigInteger(hex, 16), 32).substring(0, length);
    }

    private static String bits(BigInteger value, int width) {
      return "0".repeat(width - value.bitLength()) + (value.signum() == 0 ? "" : value.toString(2));
    }
  }
}
