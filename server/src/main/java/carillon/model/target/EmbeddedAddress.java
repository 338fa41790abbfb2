package carillon.model.target;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds the IPv4 addresses that an IPv6 address leads to through a translator or a tunnel: mapped
 * and compatible addresses, NAT64, 6to4, Teredo and ISATAP.
 */
final class EmbeddedAddress {

  private EmbeddedAddress() {}

  /** Empty for IPv4, and for IPv6 that embeds none. */
  static List<InetAddress> in(InetAddress address) {
    byte[] bytes = address.getAddress();
    List<InetAddress> found = new ArrayList<>();
    if (bytes.length != 16) {
      return found;
    }
    if (startsWith(bytes, 0, 0, 0, 0, 0, 0, 0, 0)) {
      // ::a.b.c.d, ::ffff:a.b.c.d and ::ffff:0:a.b.c.d (SIIT)
      found.add(at(bytes, 12, 13, 14, 15, 0));
    } else if (startsWith(bytes, 0x00, 0x64, 0xff, 0x9b)) {
      // RFC 6052: the last four bytes after a prefix of 96 bits; a shorter one leaves byte 8 free.
      found.add(at(bytes, 12, 13, 14, 15, 0));
      found.add(at(bytes, 9, 10, 11, 12, 0));
      found.add(at(bytes, 7, 9, 10, 11, 0));
      found.add(at(bytes, 6, 7, 9, 10, 0));
    } else if (startsWith(bytes, 0x20, 0x02)) {
      found.add(at(bytes, 2, 3, 4, 5, 0));
    } else if (startsWith(bytes, 0x20, 0x01, 0x00, 0x00)) {
      found.add(at(bytes, 4, 5, 6, 7, 0)); // the Teredo server
      found.add(at(bytes, 12, 13, 14, 15, 0xff)); // the client, with all bits inverted
    }
    if ((bytes[8] & 0xfd) == 0 && bytes[9] == 0 && (bytes[10] & 0xff) == 0x5e && bytes[11] == -2) {
      found.add(at(bytes, 12, 13, 14, 15, 0)); // ISATAP
    }
    return found;
  }

  private static boolean startsWith(byte[] bytes, int... prefix) {
    for (int i = 0; i < prefix.length; i++) {
      if ((bytes[i] & 0xff) != prefix[i]) {
        return false;
      }
    }
    return true;
  }

  private static InetAddress at(byte[] bytes, int a, int b, int c, int d, int mask) {
    byte[] four = {
      (byte) (bytes[a] ^ mask),
      (byte) (bytes[b] ^ mask),
      (byte) (bytes[c] ^ mask),
      (byte) (bytes[d] ^ mask)
    };
    try {
      return InetAddress.getByAddress(four);
    } catch (UnknownHostException e) {
      throw new IllegalStateException("four bytes are always an address", e);
    }
  }
}
