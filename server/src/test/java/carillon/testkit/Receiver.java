package carillon.testkit;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** A well-behaved HTTP target, fast enough for load tests, that records every delivery. */
public final class Receiver implements AutoCloseable {

  private final ServerSocket listener;
  private final Set<Socket> connections = ConcurrentHashMap.newKeySet();
  private final Queue<Delivery> deliveries = new ConcurrentLinkedQueue<>();
  private final AtomicInteger count = new AtomicInteger();
  private volatile Behaviour behaviour = _ -> 200;

  /** Decides the status of the response; may block. */
  @FunctionalInterface
  public interface Behaviour {
    int respond(Delivery delivery) throws InterruptedException;
  }

  /**
   * One delivery as it arrived.
   *
   * @param at when the first byte was read
   */
  public record Delivery(
      String path,
      String task,
      int fence,
      int attempt,
      Instant dueAt,
      Instant at,
      long nanoTime,
      String body) {}

  private Receiver() {
    try {
      this.listener = new ServerSocket(0, 1_000, InetAddress.ofLiteral("127.0.0.1"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Thread.ofVirtual().start(this::accept);
  }

  /** Starts a receiver that responds with 200. */
  public static Receiver start() {
    return new Receiver();
  }

  public void respondWith(Behaviour behaviour) {
    this.behaviour = behaviour;
  }

  /** Delays every response until the returned latch is counted down. */
  public CountDownLatch holdResponses() {
    CountDownLatch latch = new CountDownLatch(1);
    respondWith(
        _ -> {
          latch.await();
          return 200;
        });
    return latch;
  }

  public String url(String path) {
    return "http://127.0.0.1:" + listener.getLocalPort() + path;
  }

  /** All deliveries, in the order of arrival. */
  public Collection<Delivery> deliveries() {
    return List.copyOf(deliveries);
  }

  public int count() {
    return count.get();
  }

  /** The deliveries by task, in the order of arrival. */
  public Map<String, List<Delivery>> byTask() {
    Map<String, List<Delivery>> byTask = new HashMap<>();
    deliveries.forEach(
        delivery -> byTask.computeIfAbsent(delivery.task(), _ -> new ArrayList<>()).add(delivery));
    return byTask;
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        Socket socket = listener.accept();
        connections.add(socket);
        Thread.ofVirtual().start(() -> serve(socket));
      } catch (IOException e) {
        // Closed.
      }
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      socket.setTcpNoDelay(true);
      InputStream in = new BufferedInputStream(socket.getInputStream());
      OutputStream out = socket.getOutputStream();
      while (true) {
        Delivery delivery = read(in); // before the test may change the behaviour
        int status = behaviour.respond(delivery);
        out.write(
            ("HTTP/1.1 " + status + " Status\r\nContent-Length: 0\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII));
      }
    } catch (IOException e) {
      // The client closed the connection.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      connections.remove(socket);
    }
  }

  private Delivery read(InputStream in) throws IOException {
    in.mark(1);
    int first = in.read();
    Instant at = Instant.now();
    long nanoTime = System.nanoTime();
    if (first < 0) {
      throw new EOFException();
    }
    in.reset();
    String path = line(in).split(" ", -1)[1];
    Map<String, String> headers = new HashMap<>();
    for (String line = line(in); !line.isEmpty(); line = line(in)) {
      int colon = line.indexOf(':');
      headers.put(
          line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).strip());
    }
    int length = Integer.parseInt(headers.getOrDefault("content-length", "0"));
    String body = new String(in.readNBytes(length), StandardCharsets.UTF_8);
    Delivery delivery =
        new Delivery(
            path,
            headers.getOrDefault("carillon-task-id", ""),
            Integer.parseInt(headers.getOrDefault("carillon-fence", "0")),
            Integer.parseInt(headers.getOrDefault("carillon-attempt", "0")),
            Instant.parse(headers.getOrDefault("carillon-due-at", "1970-01-01T00:00:00Z")),
            at,
            nanoTime,
            body);
    deliveries.add(delivery);
    count.incrementAndGet();
    return delivery;
  }

  private static String line(InputStream in) throws IOException {
    StringBuilder line = new StringBuilder(64);
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        throw new EOFException();
      }
      line.append((char) c);
    }
    return line.toString().stripTrailing();
  }

  @Override
  public void close() {
    try {
      listener.close();
      for (Socket socket : connections) {
        socket.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
