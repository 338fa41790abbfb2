package carillon.api.connection;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.random.RandomGenerator;
import org.apache.hc.core5.http.ClassicHttpRequest;
import org.apache.hc.core5.http.HttpException;
import org.apache.hc.core5.http.impl.io.ChunkedInputStream;
import org.apache.hc.core5.http.impl.io.ContentLengthInputStream;
import org.apache.hc.core5.http.impl.io.DefaultHttpRequestParser;
import org.apache.hc.core5.http.impl.io.SessionInputBufferImpl;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Sends random valid and broken requests on one connection. An independent parser (Apache HttpCore)
 * finds where each of them ends. The server must send exactly one response to each request, and
 * nothing after the response to a broken one.
 *
 * <p>Every request has a unique name, which its response repeats. Every body that is rejected
 * unread is itself a request with another name, which no response may repeat.
 */
@Tag("slow")
class FramingFuzzTest {

  private static final int CONNECTIONS = 4_000; // for each of two seeds
  private static final int CLIENTS = 6;
  private static final String AUTH = "Authorization: Bearer " + TestApi.ADMIN_KEY + "\r\n";
  private static final String JSON = "Content-Type: application/json\r\n";

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  static List<Long> seeds() {
    return List.of(20261118L, new Random().nextLong());
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void every_request_gets_exactly_its_own_response(long seed) throws Exception {
    List<Future<?>> clients = new ArrayList<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < CLIENTS; i++) {
        int first = i;
        clients.add(
            threads.submit(
                () -> {
                  for (int n = first; n < CONNECTIONS; n += CLIENTS) {
                    new Exchange(seed, n).check();
                  }
                  return null;
                }));
      }
    }
    for (Future<?> client : clients) {
      client.get();
    }
  }

  /**
   * A request that its response identifies.
   *
   * @param target with %s for its name
   * @param reads whether its body is read before the response
   * @param echoes whether its response repeats its name
   */
  private record Kind(
      String method, String target, String headers, boolean reads, int status, boolean echoes) {

    int status(boolean hasBody) {
      boolean isFileWithBody = target.startsWith("/ui/") && hasBody;
      return isFileWithBody || (status == 415 && !hasBody) ? 400 : status;
    }
  }

  private static final List<Kind> KINDS =
      List.of(
          new Kind("POST", "/v1/tasks", AUTH + JSON, true, 400, true),
          new Kind("POST", "/v1/tasks", AUTH + JSON, true, 400, true),
          new Kind("POST", "/v1/schedules/preview", AUTH + JSON, true, 400, true),
          new Kind("POST", "/v1/tasks?%s=1", AUTH + JSON, false, 400, true),
          new Kind("POST", "/v1/tasks", JSON, false, 401, false),
          new Kind("POST", "/v1/tasks", AUTH + "Content-Type: text/%s\r\n", false, 415, false),
          new Kind("PUT", "/nothing/%s", AUTH + JSON, false, 404, false),
          new Kind("PATCH", "/health/live", "", false, 405, false),
          new Kind("GET", "/health/live?%s=1", "", false, 400, true),
          new Kind("GET", "/ui/%s", "", false, 404, false),
          new Kind("GET", "/?%s=1", "", false, 400, true),
          new Kind("DELETE", "/v1/keys/x?%s=1", AUTH, false, 400, true),
          new Kind("GET", "/v1/tasks/%s", AUTH, false, 400, true),
          new Kind("HEAD", "/v1/tasks/%s", AUTH, false, 400, false),
          new Kind("POST", "http://x/v1/tasks", AUTH + JSON, true, 400, true),
          new Kind("GET", "HTTPS://[::1]:8443?%s=1", "", false, 400, true),
          new Kind("PUT", "http://h/nothing/%s", AUTH + JSON, false, 404, false));

  /** How the end of a request is marked. */
  private enum Style {
    NONE,
    EMPTY,
    LENGTH,
    CHUNKED
  }

  private static final List<Style> STYLES = List.of(Style.values());

  /** Errors in the head. */
  private static final List<String> BROKEN_HEADS =
      List.of(
          "X-A: b\n",
          "X-A : b\r\n",
          ": x\r\n",
          " folded\r\n",
          "X-A: b\r\n\tfolded\r\n",
          "X-A\r\n",
          "X-A: a\0b\r\n",
          "X-A: a\rb\r\n",
          "X-A: a\u007fb\r\n",
          "X A: b\r\n",
          "X-\u00e4: b\r\n",
          "Host: y\r\n",
          "Content-Length: 1\r\nContent-Length: 1\r\n",
          "Content-Length: 1\r\nContent-Length: 2\r\n",
          "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
          "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
          "Content-Length: +1\r\n",
          "Content-Length: -1\r\n",
          "Content-Length: 1, 1\r\n",
          "Content-Length: 0x1\r\n",
          "Content-Length: 1 1\r\n",
          "Content-Length:\r\n",
          "Content-Length: 99999999999999999999\r\n",
          "Transfer-Encoding: gzip, chunked\r\n",
          "Transfer-Encoding: xchunked\r\n",
          "Transfer-Encoding: chunked, chunked\r\n",
          "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
          "Transfer-Encoding: identity\r\n",
          "Transfer-Encoding:\r\n",
          "X-A: b\r\n".repeat(110),
          "X-A: " + "b".repeat(17_000) + "\r\n");

  private static final List<String> BROKEN_CHUNKS =
      List.of(
          "1\r\n\r\n",
          "2\r\n{}XX0\r\n\r\n",
          "2\r\n{}\n0\r\n\r\n",
          "2\r\n{}\rX0\r\n\r\n",
          "2\n{}\r\n0\r\n\r\n",
          "g\r\n\r\n",
          "\r\n{}\r\n0\r\n\r\n",
          " 2\r\n{}\r\n0\r\n\r\n",
          "2 \r\n{}\r\n0\r\n\r\n",
          "0x2\r\n{}\r\n0\r\n\r\n",
          "+2\r\n{}\r\n0\r\n\r\n",
          "-2\r\n{}\r\n0\r\n\r\n",
          "2;a\n\r\n{}\r\n0\r\n\r\n",
          "1000000000000000002\r\n{}\r\n0\r\n\r\n",
          "2\r\n{}\r\n0\r\n: x\r\n\r\n",
          "2\r\n{}\r\n0\r\nx\r\n\r\n",
          "2\r\n{}\r\n0\r\nX-A: b\n\r\n",
          "2\r\n{}\r\n0\r\n\n\r\n\r\n");

  /**
   * The expected response.
   *
   * @param status 0 for a broken request, which may get 400, 431 or 505
   */
  private record Expected(int status, String name, boolean head, boolean closes) {

    boolean matches(@Nullable Answer answer) {
      return answer != null
          && (status == 0
              ? List.of(400, 431, 505).contains(answer.status())
              : answer.status() == status)
          && answer.text().contains(name)
          && answer.closes() == closes;
    }
  }

  /** All bytes sent and received on one connection. */
  private static final class Exchange {

    private final RandomGenerator random;
    private final String id;
    private final ByteArrayOutputStream sent = new ByteArrayOutputStream();
    private final List<Expected> expected = new ArrayList<>();
    private final List<String> targets = new ArrayList<>();
    private final List<byte[]> bodies = new ArrayList<>();
    private boolean isClosed;
    private int parsed; // requests that the independent parser must find unchanged

    Exchange(long seed, int number) {
      this.random = new Random(seed * 31 + number);
      this.id = "u" + Long.toHexString(seed & 0xffff) + "x" + number;
      int requests = 1 + random.nextInt(4);
      for (int i = 0; i < requests; i++) {
        add(i);
      }
      put("GET /health/live?" + id + "end=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      expect(new Expected(400, id + "end", false, true), "/health/live?" + id + "end=1", "");
    }

    private void add(int number) {
      Kind kind = KINDS.get(random.nextInt(KINDS.size()));
      String name = id + "r" + number;
      boolean http10 = random.nextInt(12) == 0;
      Style style = STYLES.get(random.nextInt(STYLES.size()));
      if (kind.reads() && style != Style.CHUNKED) {
        style = Style.LENGTH;
      }
      if (http10 && style == Style.CHUNKED) {
        style = Style.LENGTH;
      }
      boolean brokenHead = random.nextInt(8) == 0;
      boolean brokenChunk = style == Style.CHUNKED && random.nextInt(4) == 0;
      boolean close = random.nextInt(15) == 0;
      String body = kind.reads() ? "{" + spaces() + "\"" + name + "\":1}" : smuggled();
      body = style == Style.NONE || style == Style.EMPTY ? "" : body;
      String target = kind.target().formatted(name);
      head(kind, name, target, http10, style, brokenHead, close, body.length());
      put(style == Style.CHUNKED ? brokenChunk ? brokenChunks() : chunks(body) : body);
      boolean hasBody = style == Style.LENGTH || style == Style.CHUNKED;
      boolean head = kind.method().equals("HEAD");
      if (brokenHead) {
        expect(new Expected(0, "", false, true), null, body);
      } else if (brokenChunk && kind.reads()) {
        expect(new Expected(0, "", head, true), null, body);
      } else {
        boolean isRejectedUnread = hasBody && !kind.reads();
        // A body that is not allowed is rejected first, but after the query.
        boolean bodyNotAllowed =
            hasBody && kind.status() == 400 && !kind.reads() && !target.contains("?");
        expect(
            new Expected(
                kind.status(hasBody),
                kind.echoes() && !bodyNotAllowed ? name : "",
                head,
                close || http10 || isRejectedUnread),
            brokenChunk ? null : target,
            body);
      }
    }

    private void expect(Expected answer, @Nullable String target, String body) {
      if (isClosed) {
        return;
      }
      expected.add(answer);
      isClosed = answer.closes();
      if (target != null) {
        targets.add(target);
        bodies.add(body.getBytes(StandardCharsets.ISO_8859_1));
        parsed++;
      }
    }

    private void head(
        Kind kind,
        String name,
        String target,
        boolean http10,
        Style style,
        boolean broken,
        boolean close,
        int length) {
      put(random.nextInt(10) == 0 ? "\r\n" : "");
      boolean badLine = broken && random.nextInt(4) == 0;
      put(
          badLine
              ? badRequestLine(kind.method(), target)
              : kind.method() + " " + target + " HTTP/1." + (http10 ? "0" : "1") + "\r\n");
      put(http10 && random.nextBoolean() && !broken ? "" : "hOst: x\r\n");
      put(kind.headers().formatted(name));
      put(random.nextInt(3) == 0 ? "Expect: 100-continue\r\n" : "");
      put(close ? "Connection: x, Close\r\n" : "");
      put(broken && !badLine ? BROKEN_HEADS.get(random.nextInt(BROKEN_HEADS.size())) : "");
      put(
          switch (style) {
            case NONE -> "";
            case EMPTY -> "Content-Length: 0\r\n";
            case LENGTH -> "content-length:\t" + length + " \r\n";
            case CHUNKED -> "Transfer-Encoding: Chunked\r\n";
          });
      put("\r\n");
    }

    private static String originForm(String target) {
      String path = target.replaceFirst("(?i)^https?://[^/?]+", "");
      return path.startsWith("/") ? path : "/" + path;
    }

    private String badRequestLine(String method, String target) {
      return switch (random.nextInt(9)) {
        case 0 -> method + "  " + target + " HTTP/1.1\r\n";
        case 1 -> method + " " + target + "\r\n";
        case 2 -> method + " " + target + " HTTP/1.1 \r\n";
        case 3 -> method + "\t" + target + " HTTP/1.1\r\n";
        case 4 -> method + " " + target + " HTTP/1.2\r\n";
        case 5 -> method + " " + target + " http/1.1\r\n";
        case 6 -> method + " " + target + " HTTP/1.1\n";
        case 7 -> method + "( " + target + " HTTP/1.1\r\n";
        default -> method + " " + target + "\u00ff HTTP/1.1\r\n";
      };
    }

    private String smuggled() {
      return "GET /health/live?s" + id + "=1 HTTP/1.1\r\nHost: x\r\n\r\n" + spaces();
    }

    private String spaces() {
      return " \r\n".repeat(random.nextInt(4) == 0 ? random.nextInt(1500) : random.nextInt(4));
    }

    private String chunks(String body) {
      StringBuilder chunks = new StringBuilder();
      for (int at = 0; at < body.length(); ) {
        int size =
            Math.min(body.length() - at, 1 + random.nextInt(random.nextInt(4) == 0 ? 9 : 900));
        chunks.append(random.nextInt(4) == 0 ? "00" : "");
        chunks.append(random.nextBoolean() ? Integer.toHexString(size) : "%X".formatted(size));
        chunks.append(random.nextInt(6) == 0 ? ";a=\"b;c\";d" : "").append("\r\n");
        chunks.append(body, at, at + size).append("\r\n");
        at += size;
      }
      chunks.append("0\r\n").append(random.nextInt(6) == 0 ? "X-Sum: 1\r\n" : "");
      return chunks.append("\r\n").toString();
    }

    private String brokenChunks() {
      String whole = random.nextBoolean() ? "" : chunks(" ".repeat(5));
      String before = whole.isEmpty() ? "" : whole.substring(0, whole.lastIndexOf("0\r\n"));
      return before + BROKEN_CHUNKS.get(random.nextInt(BROKEN_CHUNKS.size()));
    }

    private void put(String text) {
      sent.writeBytes(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    void check() throws IOException, HttpException {
      byte[] all = sent.toByteArray();
      checkWithIndependentParser(all);
      String answers = new String(exchange(all), StandardCharsets.ISO_8859_1);
      String description =
          "sent:\n" + shown(all) + "\nanswered:\n" + answers + "\nexpected: " + expected;
      assertThat(answers).as(description).doesNotContain("s" + id);
      int at = 0;
      for (Expected each : expected) {
        Answer answer = Answer.parse(answers, at, each.head());
        assertThat(answer).as(description).matches(each::matches);
        at = Objects.requireNonNull(answer).end();
      }
      assertThat(answers.length()).as(description).isEqualTo(at);
    }

    private static String shown(byte[] bytes) {
      String text = new String(bytes, StandardCharsets.ISO_8859_1);
      return text.replace("\r", "\\r").replaceAll("( \\\\r\n){4,}", "...");
    }

    /** Sends everything in several pieces and reads until the server closes. */
    private byte[] exchange(byte[] all) throws IOException {
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(15_000);
        int pieces = random.nextInt(5);
        int from = 0;
        for (int i = 0; i < pieces && from < all.length; i++) {
          int to = from + 1 + random.nextInt(random.nextBoolean() ? 20 : all.length - from);
          to = Math.min(to, all.length);
          socket.getOutputStream().write(all, from, to - from);
          from = to;
        }
        socket.getOutputStream().write(all, from, all.length - from);
        return socket.getInputStream().readAllBytes();
      }
    }

    /** Checks that an independent parser finds exactly the intended requests and bodies. */
    private void checkWithIndependentParser(byte[] all) throws IOException, HttpException {
      SessionInputBufferImpl buffer = new SessionInputBufferImpl(8192);
      InputStream in = new ByteArrayInputStream(all);
      for (int i = 0; i < parsed; i++) {
        ClassicHttpRequest request = new DefaultHttpRequestParser().parse(buffer, in);
        assertThat(request.getRequestUri()).as(shown(all)).isEqualTo(originForm(targets.get(i)));
        InputStream body = InputStream.nullInputStream();
        if (request.containsHeader("Transfer-Encoding")) {
          body = new ChunkedInputStream(buffer, in);
        } else if (request.containsHeader("Content-Length")) {
          long length = Long.parseLong(request.getFirstHeader("Content-Length").getValue());
          body = new ContentLengthInputStream(buffer, in, length);
        }
        assertThat(body.readAllBytes()).as(shown(all)).isEqualTo(bodies.get(i));
      }
    }
  }

  /**
   * A response, parsed strictly.
   *
   * @param end where the next response starts
   */
  private record Answer(int status, String text, boolean closes, int end) {

    static @Nullable Answer parse(String all, int from, boolean toHead) {
      int start = from;
      String interim = "HTTP/1.1 100 Continue\r\n\r\n";
      if (all.startsWith(interim, start)) {
        start += interim.length();
      }
      int bodyStart = all.indexOf("\r\n\r\n", start) + 4;
      if (bodyStart < 4 || !all.startsWith("HTTP/1.1 ", start)) {
        return null;
      }
      int length = -1;
      boolean closes = false;
      for (String line : all.substring(start, bodyStart - 2).split("\r\n", -1)) {
        if (line.startsWith("Content-Length: ")) {
          length = Integer.parseInt(line.substring("Content-Length: ".length()));
        }
        closes |= line.equals("Connection: close");
      }
      int end = bodyStart + (toHead ? 0 : length);
      if (length < 0 || end > all.length()) {
        return null;
      }
      int status = Integer.parseInt(all.substring(start + 9, start + 12));
      return new Answer(status, all.substring(start, end), closes, end);
    }
  }
}
