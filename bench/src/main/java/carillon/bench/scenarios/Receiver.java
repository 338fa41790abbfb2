package carillon.bench.scenarios;

import carillon.bench.systems.Wire;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.function.Predicate;

/** The HTTP target: answers every request with 200, or some of them with 503. */
public final class Receiver implements AutoCloseable {

  private static final byte[] OK =
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] UNAVAILABLE =
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
          .getBytes(StandardCharsets.US_ASCII);

  private final ServerSocket server;
  private final Predicate<byte[]> accepts;

  private Receiver(ServerSocket server, Predicate<byte[]> accepts) {
    this.server = server;
    this.accepts = accepts;
  }

  public static Receiver start() throws IOException {
    return start(_ -> true);
  }

  /**
   * Starts one that can refuse requests.
   *
   * @param accepts called with the body of each request, concurrently; whether to answer 200
   */
  public static Receiver start(Predicate<byte[]> accepts) throws IOException {
    Receiver receiver =
        new Receiver(new ServerSocket(0, 1024, InetAddress.ofLiteral("127.0.0.1")), accepts);
    Thread.ofVirtual().start(receiver::accept);
    return receiver;
  }

  public String url() {
    return "http://127.0.0.1:" + server.getLocalPort() + "/";
  }

  private void accept() {
    try {
      while (true) {
        Socket socket = server.accept();
        Thread.ofVirtual().start(() -> serve(socket));
      }
    } catch (IOException _) {
      // closed
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      socket.setTcpNoDelay(true);
      InputStream in = new BufferedInputStream(socket.getInputStream());
      OutputStream out = socket.getOutputStream();
      while (true) {
        byte[] body = in.readNBytes(Wire.length(in));
        out.write(accepts.test(body) ? OK : UNAVAILABLE);
      }
    } catch (IOException _) {
      // the client closed the connection
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
  }
}
