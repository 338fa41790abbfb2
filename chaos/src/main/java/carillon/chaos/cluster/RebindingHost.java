package carillon.chaos.cluster;

import carillon.chaos.history.Fields;
import carillon.chaos.history.Recorder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;

/**
 * Two host names for tests of DNS rebinding, with listeners that record connections: one name
 * switches between an allowed and a forbidden address all the time, the other has only the
 * forbidden address.
 */
public final class RebindingHost implements AutoCloseable {

  static final String HOST = "rebinding.example";
  static final String ALLOWED = "127.0.0.1";
  public static final String FORBIDDEN = "127.0.0.2";
  private static final String INTERNAL = "internal.example";
  private static final long SWITCH_MILLIS = 3;
  private static final byte[] ANSWER =
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
          .getBytes(StandardCharsets.US_ASCII);

  private final Path hosts;
  private final Recorder recorder;
  private final ServerSocket allowed;
  private final ServerSocket forbidden;
  private final Thread switching;

  private RebindingHost(Path hosts, Recorder recorder) throws IOException {
    this.hosts = hosts;
    this.recorder = recorder;
    this.allowed = new ServerSocket(0, 100, InetAddress.ofLiteral(ALLOWED));
    this.forbidden = new ServerSocket();
    forbidden.bind(new InetSocketAddress(FORBIDDEN, allowed.getLocalPort()));
    Thread.ofVirtual().start(() -> listen(allowed, true));
    Thread.ofVirtual().start(() -> listen(forbidden, false));
    this.switching = Thread.ofPlatform().daemon().start(this::switchAddresses);
  }

  /**
   * Starts to switch the address of the name.
   *
   * @param hosts the file from which nodes resolve names
   */
  public static RebindingHost start(Path hosts, Recorder recorder) throws IOException {
    Files.writeString(hosts, names(ALLOWED));
    return new RebindingHost(hosts, recorder);
  }

  /** JVM flags that make a node read this file for every lookup. */
  static List<String> flags(Path hosts) {
    return List.of("-Djdk.net.hosts.file=" + hosts, "-Dsun.net.inetaddr.ttl=0");
  }

  private static String names(String address) {
    return address + " " + HOST + "\n" + FORBIDDEN + " " + INTERNAL + "\n";
  }

  public String url() {
    return urlOf(HOST);
  }

  /** A URL whose name has only the forbidden address. */
  public String internalUrl() {
    return urlOf(INTERNAL);
  }

  /** A URL with the forbidden address itself. */
  public String forbiddenUrl() {
    return urlOf(FORBIDDEN);
  }

  private String urlOf(String host) {
    return "http://" + host + ":" + allowed.getLocalPort() + "/";
  }

  private void switchAddresses() {
    Path next = hosts.resolveSibling("hosts.next");
    try {
      for (int i = 0; !Thread.interrupted(); i++) {
        Files.writeString(next, names(i % 2 == 0 ? FORBIDDEN : ALLOWED));
        Files.move(
            next, hosts, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        Thread.sleep(SWITCH_MILLIS);
      }
    } catch (IOException e) {
      recorder.event("harness", Fields.of("error", String.valueOf(e)));
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void listen(ServerSocket server, boolean isAllowed) {
    try {
      while (true) {
        Socket socket = server.accept();
        recorder.event(
            "dial",
            Fields.of("address", isAllowed ? ALLOWED : FORBIDDEN).and("allowed", isAllowed));
        Thread.ofVirtual().start(() -> answer(socket));
      }
    } catch (IOException _) {
      // closed
    }
  }

  private static void answer(Socket socket) {
    try (socket) {
      Request.read(socket.getInputStream());
      socket.getOutputStream().write(ANSWER);
    } catch (IOException _) {
      // the node closed the connection
    }
  }

  @Override
  public void close() throws IOException {
    switching.interrupt();
    allowed.close();
    forbidden.close();
  }
}
