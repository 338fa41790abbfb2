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
 * An HTTP target that believes only what Carillon has signed, and does each task once.
 *
 * <p>The status of the answer decides: 2xx completes the task, 5xx has it tried again, any other
 * 4xx sets it aside as a dead letter.
 */
public class HttpReceiver {

  /** Somebody who recorded a delivery cannot send it again later than this. */
  private static final Duration TOLERANCE = Duration.ofMinutes(5);

  private final byte[] secret;

  /** Ids of tasks that were done. Yours belong into the database, beside what the task changes. */
  private final Set<String> done = ConcurrentHashMap.newKeySet();

  public static void main(String[] args) throws IOException {
    HttpServer server = new HttpReceiver(System.getenv("SIGNING_SECRET")).start(9000);
    System.out.println("Listening on " + server.getAddress());
  }

  /**
   * Believes what is signed with a secret.
   *
   * @param secret the type's {@code signingSecret}: {@code whsec_} and the key in Base64
   */
  public HttpReceiver(String secret) {
    this.secret = Base64.getDecoder().decode(secret.replaceFirst("^whsec_", ""));
  }

  /** Begins to answer; port 0 picks a free one. */
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
      return 200; // an earlier attempt succeeded, but its answer was lost
    }
    String text = new String(body, UTF_8);
    System.out.println(header(exchange, "Carillon-Task-Type") + " " + id + " " + text);
    done.add(id);
    return 200;
  }

  /** While a secret is being replaced there are two signatures; one of them has to be ours. */
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
