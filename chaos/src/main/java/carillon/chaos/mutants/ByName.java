package carillon.chaos.mutants;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;

/** Connects to whatever a host's name means by now, and not to the address that was vetted. */
public final class ByName {

  private ByName() {}

  public static void connect(Object socket, Object vetted, int millis) throws IOException {
    InetSocketAddress address = (InetSocketAddress) vetted;
    InetAddress now = InetAddress.getByName(address.getHostString());
    ((Socket) socket).connect(new InetSocketAddress(now, address.getPort()), millis);
  }
}
