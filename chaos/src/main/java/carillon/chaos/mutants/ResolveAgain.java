package carillon.chaos.mutants;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * Resolves the host name again and connects to the result, instead of the address that was checked.
 */
public final class ResolveAgain {

  private ResolveAgain() {}

  public static void connect(Object socket, Object vetted, int millis) throws IOException {
    InetSocketAddress address = (InetSocketAddress) vetted;
    InetAddress now = InetAddress.getByName(address.getHostString());
    ((Socket) socket).connect(new InetSocketAddress(now, address.getPort()), millis);
  }
}
