package carillon.chaos.load;

import carillon.chaos.cluster.Request;
import carillon.chaos.cluster.Watched;
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
 * The outside world: takes deliveries over plain sockets, behaves well or badly by the task's
 * number, and remembers what it did.
 */
public final class Receiver implements AutoCloseable {

  private static final long SLOW_MILLIS = 700;
  private static final long SLOWER_MILLIS = 900;

  /** Longer than the deadline of an attempt. */
  private static final long SILENCE_MILLIS = 3_500;

  private static final long BYTE_MILLIS = 25;

  private final ServerSocket server;
  private final Streams streams;
  private final Recorder recorder;
  private final Map<String, Tenant> tenants = new ConcurrentHashMap<>();
  private final Map<String, Running> running = new ConcurrentHashMap<>();
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private final AtomicLong connections = new AtomicLong();
  private final AtomicLong received = new AtomicLong();
  private final AtomicLong answeredWell = new AtomicLong();

  /** A delivery that has begun and not ended. */
  record Running(String tenant, String task) {}

  /**
   * What the other side was told.
   *
   * @param at a moment before it could know; null if it was told nothing. That it was told is noted
   *     afterwards, and on a busy machine long after the other side has acted upon it.
   */
  private record Answer(String status, @Nullable Instant at) {}

  private Receiver(ServerSocket server, Streams streams, Recorder recorder) {
    this.server = server;
    this.streams = streams;
    this.recorder = recorder;
  }

  public static Receiver start(Streams streams, Recorder recorder) throws IOException {
    Receiver receiver =
        new Receiver(
            new ServerSocket(0, 1024, InetAddress.ofLiteral("127.0.0.1")), streams, recorder);
    Watched.start(recorder, "receiver", receiver::accept);
    return receiver;
  }

  void know(Tenant tenant) {
    tenants.put(tenant.name(), tenant);
  }

  String urlFor(String tenant) {
    return "http://127.0.0.1:" + server.getLocalPort() + "/" + tenant;
  }

  /** Deliveries that are under way now. */
  List<Running> running() {
    return new ArrayList<>(running.values());
  }

  long received() {
    return received.get();
  }

  long answeredWell() {
    return answeredWell.get();
  }

  private void accept() {
    try {
      while (true) {
        Socket socket = server.accept();
        Watched.start(recorder, "receiver-connection", () -> serve(socket));
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
      // the other side is done
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } finally {
      sockets.remove(socket);
    }
  }

  /** Whether the connection can be used again. */
  private boolean take(Request request, Socket socket, long connection)
      throws IOException, InterruptedException {
    received.incrementAndGet();
    String called = request.path().replaceAll("^/|\\?.*$", "");
    JsonNode body = request.json();
    String task = request.header("carillon-task-id");
    long attempt = request.number("carillon-attempt");
    Fields same =
        Fields.of("task", task)
            .and("attempt", attempt)
            .and("fence", request.number("carillon-fence"))
            .and("conn", connection);
    Tenant tenant = tenants.get(called);
    recorder.event(
        "recv-start",
        same.and("type", request.header("carillon-task-type"))
            .and("tenant", ownerOf(request.body()))
            .and("expected", called)
            .and("n", body.hasNonNull("n") ? body.get("n").asLong() : null)
            .and("schedule", request.headers().get("carillon-schedule"))
            .and("fireAt", request.headers().get("carillon-fire-at"))
            .and("payloadHash", Payload.hash(request.body()))
            .and("signatureValid", tenant != null && request.isSignedWith(tenant.secret())));
    running.put(task, new Running(called, task));
    Answer answer = new Answer("broken", null); // it hung up before it had the answer
    try {
      Behaviour behaviour =
          body.hasNonNull("n") ? Behaviour.of(streams, body.get("n").asLong()) : Behaviour.OK;
      answer = answer(behaviour, attempt, socket);
      return !socket.isClosed();
    } finally {
      running.remove(task);
      Fields end = same.and("status", answer.status()).and("answered", answer.at());
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
      case OK -> say(out, 200, "");
      case SLOW -> {
        Thread.sleep(SLOW_MILLIS + (SLOWER_MILLIS * (attempt % 2)));
        yield say(out, 200, "");
      }
      case FAILS_ONCE -> say(out, first ? 500 : 200, "");
      case FAILS -> say(out, 500, "");
      case LATER -> first ? say(out, 429, "Retry-After: 1\r\n") : say(out, 200, "");
      case RESET -> {
        if (!first) {
          yield say(out, 200, "");
        }
        socket.setSoLinger(true, 0);
        Instant at = recorder.now();
        socket.close();
        yield new Answer("rst", at);
      }
      case SILENT -> {
        if (!first) {
          yield say(out, 200, "");
        }
        Thread.sleep(SILENCE_MILLIS);
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
        answeredWell.incrementAndGet();
        yield new Answer("200", at);
      }
    };
  }

  private static void send(OutputStream out, byte... bytes) throws IOException {
    out.write(bytes);
    out.flush();
  }

  private Answer say(OutputStream out, int status, String headers) throws IOException {
    Instant at = recorder.now();
    send(out, response(status, headers));
    if (status == 200) {
      answeredWell.incrementAndGet();
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
