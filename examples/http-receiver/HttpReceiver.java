import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * An HTTP target that accepts only deliveries signed by Carillon and handles each task once.
 *
 * <p>The status of the response decides: 2xx completes the task, 5xx is retried, most 4xx make it a
 * dead letter.
 */
public class HttpReceiver {

  /** Rejects replays of recorded deliveries that are older than this. */
  private static final Duration TOLERANCE = Duration.ofMinutes(5);

  private final byte[] secret;

  /** Ids of handled tasks. In production, store them in the transaction that handles the task. */
  private final Set<String> done = ConcurrentHashMap.newKeySet();

  public static void main(String[] args) throws IOException {
    HttpServer server = new HttpReceiver(System.getenv("SIGNING_SECRET")).start(9000);
    System.out.println("Listening on " + server.getAddress());
  }

  /**
   * Accepts deliveries signed with this secret.
   *
   * @param secret the type's {@code signingSecret}: {@code whsec_} and the key in Base64
   */
  public HttpReceiver(String secret) {
    this.secret = Base64.getDecoder().decode(secret.replaceFirst("^whsec_", ""));
  }

  /** Starts listening. Port 0 picks a free port. */
  public HttpServer start(int port) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.createContext("/", this::receive);
    server.start();
    return server;
  }

  private void receive(HttpExchange exchange) throws IOException {
    try (exchange) {
      byte[] body = exchange.getRequestBody().readAllBytes();
      int status = isSigned(exchange, body) ? work(exchange, body) : 401;
      exchange.sendResponseHeaders(status, -1);
    }
  }

  private int work(HttpExchange exchange, byte[] body) {
    String id = header(exchange, "webhook-id"); // the same for all attempts of a task
    if (done.contains(id)) {
      return 200; // an earlier attempt succeeded, but its response was lost
    }
    String text = new String(body, UTF_8);
    System.out.println(header(exchange, "Carillon-Task-Type") + " " + id + " " + text);
    done.add(id);
    return 200;
  }

  /** During a secret rotation there are two signatures; one of them must match. */
  private boolean isSigned(HttpExchange exchange, byte[] body) {
    String id = header(exchange, "webhook-id");
    String timestamp = header(exchange, "webhook-timestamp");
    if (!isRecent(timestamp)) {
      return false;
    }
    byte[] expected = sign(id + "." + timestamp + ".", body).getBytes(UTF_8);
    for (String signature : header(exchange, "webhook-signature").split(" ", -1)) {
      if (MessageDigest.isEqual(signature.getBytes(UTF_8), expected)) { // in constant time
        return true;
      }
    }
    return false;
  }

  private static boolean isRecent(String timestamp) {
    try {
      Instant sent = Instant.ofEpochSecond(Long.parseLong(timestamp));
      return Duration.between(sent, Instant.now()).abs().compareTo(TOLERANCE) <= 0;
    } catch (NumberFormatException e) {
      return false;
    }
  }

  private String sign(String prefix, byte[] body) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(secret, "HmacSHA256"));
      mac.update(prefix.getBytes(UTF_8));
      return "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has HmacSHA256", e);
    }
  }

  private static String header(HttpExchange exchange, String name) {
    String value = exchange.getRequestHeaders().getFirst(name);
    return value == null ? "" : value;
  }
}
