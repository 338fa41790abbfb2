package carillon.chaos.load;

import carillon.chaos.cluster.HarnessThread;
import carillon.chaos.cluster.Request;
import carillon.chaos.history.Fields;
import carillon.chaos.history.Recorder;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * The target of deliveries: accepts them on plain sockets, behaves as the task's number says (see
 * {@link Behaviour}), and records the start and end of each.
 */
public final class Receiver implements AutoCloseable {

  private static final long SLOW_MILLIS = 700;
  private static final long EXTRA_SLOW_MILLIS = 900;

  /** Longer than the timeout of an attempt. */
  private static final long SILENT_MILLIS = 3_500;

  private static final long BYTE_MILLIS = 25;

  private final ServerSocket server;
  private final RandomStreams streams;
  private final Recorder recorder;
  private final Map<String, Tenant> tenants = new ConcurrentHashMap<>();
  private final Map<String, Running> running = new ConcurrentHashMap<>();
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private final AtomicLong connections = new AtomicLong();
  private final AtomicLong received = new AtomicLong();
  private final AtomicLong accepted = new AtomicLong();

  /** A delivery in progress. */
  record Running(String tenant, String task) {}

  /**
   * The response to a delivery.
   *
   * @param at a time just before the response was sent; null if there was none. The end of the
   *     delivery is recorded later, on a busy machine long after the node has acted on the
   *     response.
   */
  private record Answer(String status, @Nullable Instant at) {}

  private Receiver(ServerSocket server, RandomStreams streams, Recorder recorder) {
    this.server = server;
    this.streams = streams;
    this.recorder = recorder;
  }

  public static Receiver start(RandomStreams streams, Recorder recorder) throws IOException {
    Receiver receiver =
        new Receiver(
            new ServerSocket(0, 1024, InetAddress.ofLiteral("127.0.0.1")), streams, recorder);
    HarnessThread.start(recorder, "receiver", receiver::accept);
    return receiver;
  }

  void know(Tenant tenant) {
    tenants.put(tenant.name(), tenant);
  }

  String urlFor(String tenant) {
    return "http://127.0.0.1:" + server.getLocalPort() + "/" + tenant;
  }

  /** Deliveries in progress. */
  List<Running> running() {
    return new ArrayList<>(running.values());
  }

  long received() {
    return received.get();
  }

  long accepted() {
    return accepted.get();
  }

  private void accept() {
    try {
      while (true) {
        Socket socket = server.accept();
        HarnessThread.start(recorder, "receiver-connection", () -> serve(socket));
      }
    } catch (IOException _) {
      // closed
    }
  }

  private void serve(Socket socket) {
    long connection = connections.incrementAndGet();
    sockets.add(socket);
    try (socket) {
      socket.setTcpNoDelay(true);
      InputStream in = new BufferedInputStream(socket.getInputStream());
      Request request = Request.read(in);
      while (request != null && take(request, socket, connection)) {
        request = Request.read(in);
      }
    } catch (IOException _) {
      // the node closed the connection
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } finally {
      sockets.remove(socket);
    }
  }

  /** Handles one request and returns whether the connection can be used again. */
  private boolean take(Request request, Socket socket, long connection)
      throws IOException, InterruptedException {
    received.incrementAndGet();
    String called = request.path().replaceAll("^/|\\?.*$", "");
    JsonNode body = request.json();
    String task = request.header("carillon-task-id");
    long attempt = request.number("carillon-attempt");
    Fields common =
        Fields.of("task", task)
            .and("attempt", attempt)
            .and("fence", request.number("carillon-fence"))
            .and("conn", connection);
    Tenant tenant = tenants.get(called);
    recorder.event(
        "recv-start",
        common
            .and("type", request.header("carillon-task-type"))
            .and("tenant", ownerOf(request.body()))
            .and("expected", called)
            .and("n", body.hasNonNull("n") ? body.get("n").asLong() : null)
            .and("schedule", request.headers().get("carillon-schedule"))
            .and("fireAt", request.headers().get("carillon-fire-at"))
            .and("payloadHash", Payload.hash(request.body()))
            .and("signatureValid", tenant != null && request.isSignedWith(tenant.secret())));
    running.put(task, new Running(called, task));
    Answer answer = new Answer("broken", null); // if the node disconnects before the response
    try {
      Behaviour behaviour =
          body.hasNonNull("n") ? Behaviour.of(streams, body.get("n").asLong()) : Behaviour.OK;
      answer = answer(behaviour, attempt, socket);
      return !socket.isClosed();
    } finally {
      running.remove(task);
      Fields end = common.and("status", answer.status()).and("answered", answer.at());
      recorder.event("recv-end", answer.status().equals("429") ? end.and("retryAfter", 1) : end);
    }
  }

  /** The tenant whose marker the body carries. */
  private String ownerOf(String body) {
    for (Tenant tenant : tenants.values()) {
      if (body.contains(tenant.marker())) {
        return tenant.name();
      }
    }
    return "nobody";
  }

  private Answer answer(Behaviour behaviour, long attempt, Socket socket)
      throws IOException, InterruptedException {
    boolean first = attempt <= 1;
    OutputStream out = socket.getOutputStream();
    return switch (behaviour) {
      case OK -> respond(out, 200, "");
      case SLOW -> {
        Thread.sleep(SLOW_MILLIS + (EXTRA_SLOW_MILLIS * (attempt % 2)));
        yield respond(out, 200, "");
      }
      case FAILS_ONCE -> respond(out, first ? 500 : 200, "");
      case FAILS -> respond(out, 500, "");
      case LATER -> first ? respond(out, 429, "Retry-After: 1\r\n") : respond(out, 200, "");
      case RESET -> {
        if (!first) {
          yield respond(out, 200, "");
        }
        socket.setSoLinger(true, 0);
        Instant at = recorder.now();
        socket.close();
        yield new Answer("rst", at);
      }
      case SILENT -> {
        if (!first) {
          yield respond(out, 200, "");
        }
        Thread.sleep(SILENT_MILLIS);
        socket.close();
        yield new Answer("none", null);
      }
      case TRICKLE -> {
        byte[] response = response(200, "");
        int last = response.length - 1;
        for (int i = 0; i < last; i++) {
          send(out, response[i]);
          Thread.sleep(BYTE_MILLIS);
        }
        Instant at = recorder.now();
        send(out, response[last]);
        accepted.incrementAndGet();
        yield new Answer("200", at);
      }
    };
  }

  private static void send(OutputStream out, byte... bytes) throws IOException {
    out.write(bytes);
    out.flush();
  }

  private Answer respond(OutputStream out, int status, String headers) throws IOException {
    Instant at = recorder.now();
    send(out, response(status, headers));
    if (status == 200) {
      accepted.incrementAndGet();
    }
    return new Answer(Integer.toString(status), at);
  }

  private static byte[] response(int status, String headers) {
    return ("HTTP/1.1 " + status + " X\r\nContent-Length: 0\r\n" + headers + "\r\n")
        .getBytes(StandardCharsets.US_ASCII);
  }

  @Override
  public void close() throws IOException {
    server.close();
    for (Socket socket : sockets) {
      socket.close();
    }
  }
}
