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

/** The HTTP target: answers every request with 200. */
public final class Receiver implements AutoCloseable {

  private static final byte[] OK =
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private final ServerSocket server;

  private Receiver(ServerSocket server) {
    this.server = server;
  }

  public static Receiver start() throws IOException {
    Receiver receiver = new Receiver(new ServerSocket(0, 1024, InetAddress.ofLiteral("127.0.0.1")));
    Thread.ofVirtual().start(receiver::accept);
    return receiver;
  }

  String url() {
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

  private static void serve(Socket socket) {
    try (socket) {
      socket.setTcpNoDelay(true);
      InputStream in = new BufferedInputStream(socket.getInputStream());
      OutputStream out = socket.getOutputStream();
      while (true) {
        in.skipNBytes(Wire.length(in));
        out.write(OK);
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
