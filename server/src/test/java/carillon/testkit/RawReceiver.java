package carillon.testkit;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ServerSocketFactory;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** An HTTP target that responds with exactly the bytes of the test, valid or not. */
public final class RawReceiver implements AutoCloseable {

  private final ServerSocket listener;
  private final Thread acceptor;
  private final Behaviour behaviour;
  private final List<Request> requests = new CopyOnWriteArrayList<>();
  private final List<Socket> connections = new CopyOnWriteArrayList<>();
  private final AtomicLong bytesSent = new AtomicLong();

  /** Handles a connection; the receiver closes it afterwards. */
  @FunctionalInterface
  public interface Behaviour {
    void serve(Wire wire) throws IOException;
  }

  /**
   * A request as it arrived.
   *
   * @param connection number of the receiver's connection, from 0
   * @param headers by lower-case name
   */
  public record Request(int connection, String line, Map<String, String> headers, String body) {

    public @Nullable String header(String name) {
      return headers.get(name.toLowerCase(Locale.ROOT));
    }
  }

  private RawReceiver(InetSocketAddress address, ServerSocketFactory sockets, Behaviour behaviour) {
    this.behaviour = behaviour;
    try {
      this.listener = sockets.createServerSocket();
      listener.bind(address);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    this.acceptor = Thread.ofVirtual().start(this::accept);
  }

  public static RawReceiver with(Behaviour behaviour) {
    return at(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0), behaviour);
  }

  public static RawReceiver at(InetSocketAddress address, Behaviour behaviour) {
    return new RawReceiver(address, ServerSocketFactory.getDefault(), behaviour);
  }

  public static RawReceiver overTls(SSLContext tls, Behaviour behaviour) {
    return new RawReceiver(
        new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0),
        tls.getServerSocketFactory(),
        behaviour);
  }

  /** Starts a receiver that sends one response to every request and keeps connections open. */
  public static RawReceiver responding(String response) {
    return with(wire -> wire.respondToAll(response));
  }

  public int port() {
    return listener.getLocalPort();
  }

  public String url() {
    return "http://127.0.0.1:" + port() + "/hook";
  }

  public List<Request> requests() {
    return requests;
  }

  public int connections() {
    return connections.size();
  }

  /** The number of bytes written so far; some may still be in the kernel's buffers. */
  public long bytesSent() {
    return bytesSent.get();
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        Socket socket = listener.accept();
        connections.add(socket);
        int number = connections.size() - 1;
        Thread.ofVirtual().start(() -> serve(socket, number));
      } catch (IOException e) {
        // Closed.
      }
    }
  }

  private void serve(Socket socket, int number) {
    try (socket) {
      behaviour.serve(new Wire(socket, number));
    } catch (IOException e) {
      // The client closed the connection, as many tests expect.
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (Socket socket : connections) {
      socket.close();
    }
    try {
      // The kernel accepts connections until the socket is closed.
      acceptor.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** One connection, from the receiver's side. */
  public final class Wire {

    private final Socket socket;
    private final int number;
    private final InputStream in;
    private final OutputStream out;

    private Wire(Socket socket, int number) throws IOException {
      this.socket = socket;
      this.number = number;
      this.in = new BufferedInputStream(socket.getInputStream());
      this.out = socket.getOutputStream();
    }

    /** Reads a request to its end and records it. */
    public Request read() throws IOException {
      String line = readLine();
      Map<String, String> headers = new TreeMap<>();
      for (String header = readLine(); !header.isEmpty(); header = readLine()) {
        int colon = header.indexOf(':');
        String name = header.substring(0, colon).toLowerCase(Locale.ROOT);
        headers.merge(name, header.substring(colon + 1).strip(), (a, b) -> a + " AND " + b);
      }
      int length = Integer.parseInt(headers.getOrDefault("content-length", "0"));
      String body = new String(in.readNBytes(length), StandardCharsets.UTF_8);
      var request = new Request(number, line, headers, body);
      requests.add(request);
      return request;
    }

    private String readLine() throws IOException {
      var line = new ByteArrayOutputStream();
      for (int c = in.read(); c != '\n'; c = in.read()) {
        if (c < 0) {
          throw new EOFException();
        }
        line.write(c);
      }
      return line.toString(StandardCharsets.US_ASCII).stripTrailing();
    }

    public void send(String text) throws IOException {
      send(text.getBytes(StandardCharsets.UTF_8));
    }

    public void send(byte[] bytes) throws IOException {
      out.write(bytes);
      out.flush();
      bytesSent.addAndGet(bytes.length);
    }

    /** Repeats the text until the client closes the connection. */
    public void sendForever(String text) throws IOException {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      while (true) {
        send(bytes);
      }
    }

    public void respondToAll(String response) throws IOException {
      while (true) {
        read();
        send(response);
      }
    }

    /** Returns when the client has closed the connection. */
    public void awaitClose() throws IOException {
      while (in.read() >= 0) {
        // Ignores the bytes.
      }
    }

    /** Sends one byte per interval until the client closes the connection. */
    public void trickle(String text, int everyMillis) throws IOException {
      socket.setSoTimeout(everyMillis);
      for (int i = 0; i < text.length(); i++) {
        send(text.substring(i, i + 1));
        try {
          if (in.read() < 0) {
            return;
          }
        } catch (SocketTimeoutException e) {
          // Time for the next byte.
        }
      }
    }

    /** Holds the connection open without reading. */
    public void ignore() throws IOException {
      try {
        new CountDownLatch(1).await();
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
    }

    /** Closes the connection with a TCP reset. */
    public void reset() throws IOException {
      socket.setSoLinger(true, 0);
      socket.close();
    }
  }
}
