package carillon.delivery.http;

import carillon.model.TenantId;
import carillon.model.target.TargetUrl;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.Socket;
import java.time.Duration;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.apache.hc.core5.http.ClassicHttpRequest;
import org.apache.hc.core5.http.ClassicHttpResponse;
import org.apache.hc.core5.http.HttpEntity;
import org.apache.hc.core5.http.HttpException;
import org.apache.hc.core5.http.HttpStatus;
import org.apache.hc.core5.http.ProtocolException;
import org.apache.hc.core5.http.impl.DefaultConnectionReuseStrategy;
import org.apache.hc.core5.http.impl.io.DefaultBHttpClientConnection;
import org.apache.hc.core5.http.message.MessageSupport;
import org.apache.hc.core5.http.protocol.HttpCoreContext;

/** One connection to one address on behalf of one tenant; carries one request at a time. */
final class Connection {

  /** A connection whose response body is longer is closed instead of reused. */
  static final int MAX_BODY_BYTES = 64 * 1024;

  private static final Duration MAX_AGE = Duration.ofSeconds(30);
  private static final Duration TLS_TIMEOUT = Duration.ofSeconds(5);

  /** Checking whether the target has closed takes a millisecond, which a busy connection saves. */
  private static final Duration TRUSTED_WHILE_IDLE = Duration.ofMillis(100);

  private final Key key;
  private final Socket socket;
  private final HeadParser parser = new HeadParser();
  private final DefaultBHttpClientConnection http;
  private final long openedAt = System.nanoTime();
  private long usedAt = openedAt;

  /** Connections with equal keys are interchangeable. */
  record Key(TenantId tenant, boolean secure, String host, int port, InetAddress address) {

    static Key of(TenantId tenant, TargetUrl url, InetAddress address) {
      return new Key(tenant, url.secure(), url.host(), url.port(), address);
    }
  }

  private Connection(Key key, Socket socket) {
    this.key = key;
    this.socket = socket;
    this.http =
        new DefaultBHttpClientConnection(
            HeadParser.LIMITS, null, null, null, null, null, _ -> parser);
  }

  /**
   * Connects to the vetted address; the host name is used for TLS only.
   *
   * @throws ConnectException if the TCP connection fails
   * @throws SSLException if the TLS handshake fails
   */
  static Connection open(Key key, Duration timeout, SSLSocketFactory tls, Deadline deadline)
      throws IOException {
    // A plain "new Socket()" would use the proxy of the system properties.
    var socket = new Socket(Proxy.NO_PROXY);
    deadline.guard(socket);
    var connection = new Connection(key, socket);
    try {
      connect(socket, key, timeout);
      if (key.secure()) {
        connection.http.bind(handshake(socket, key, tls), socket);
      } else {
        connection.http.bind(socket);
      }
      return connection;
    } catch (IOException | RuntimeException e) {
      abort(socket);
      throw e;
    }
  }

  private static void connect(Socket socket, Key key, Duration timeout) throws ConnectException {
    try {
      socket.setTcpNoDelay(true);
      int millis = (int) Math.max(1, timeout.toMillis());
      socket.connect(new InetSocketAddress(key.address(), key.port()), millis);
    } catch (IOException e) {
      throw (ConnectException) new ConnectException("no connection").initCause(e);
    }
  }

  private static SSLSocket handshake(Socket socket, Key key, SSLSocketFactory tls)
      throws SSLException {
    try {
      // The name instead of the address, for SNI and for certificate verification.
      var secured = (SSLSocket) tls.createSocket(socket, key.host(), key.port(), false);
      SSLParameters parameters = secured.getSSLParameters();
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      parameters.setProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
      secured.setSSLParameters(parameters);
      socket.setSoTimeout((int) TLS_TIMEOUT.toMillis());
      secured.startHandshake();
      socket.setSoTimeout(0);
      return secured;
    } catch (IOException e) {
      throw new SSLException("no TLS", e);
    }
  }

  /** Sends the request and reads the head of the response. */
  ClassicHttpResponse exchange(ClassicHttpRequest request) throws IOException, HttpException {
    http.sendRequestHeader(request);
    http.sendRequestEntity(request);
    http.flush();
    ClassicHttpResponse response = http.receiveResponseHeader();
    while (response.getCode() < HttpStatus.SC_SUCCESS) {
      if (response.getCode() == HttpStatus.SC_SWITCHING_PROTOCOLS) {
        throw new ProtocolException("unrequested protocol switch");
      }
      response = http.receiveResponseHeader();
    }
    if (MessageSupport.canResponseHaveBody(request.getMethod(), response)) {
      http.receiveResponseEntity(response);
    }
    return response;
  }

  /** Reads the body up to the limit; returns whether that was all of it. */
  boolean readBody(ClassicHttpResponse response, BodyExcerpt body) {
    HttpEntity entity = response.getEntity();
    if (entity == null) {
      return true;
    }
    long announced = entity.getContentLength();
    var buffer = new byte[announced < 0 || announced > 8 * 1024 ? 8 * 1024 : (int) announced + 1];
    // The stream is not closed, because closing reads the rest of it.
    try {
      InputStream in = entity.getContent();
      int total = 0;
      while (total < MAX_BODY_BYTES) {
        int read = in.read(buffer, 0, Math.min(buffer.length, MAX_BODY_BYTES - total));
        if (read < 0) {
          return true;
        }
        body.add(buffer, read);
        total += read;
      }
      return false;
    } catch (IOException e) {
      // The status counts, whatever happens to the body.
      return false;
    }
  }

  boolean mayBeReused(ClassicHttpRequest request, ClassicHttpResponse response) {
    return !parser.hasLeftovers()
        && DefaultConnectionReuseStrategy.INSTANCE.keepAlive(
            request, response, HttpCoreContext.create());
  }

  Key key() {
    return key;
  }

  void guardBy(Deadline deadline) {
    deadline.guard(socket);
  }

  void markUsed() {
    usedAt = System.nanoTime();
  }

  boolean isTooOld() {
    return System.nanoTime() - openedAt > MAX_AGE.toNanos();
  }

  /** Whether the target has neither closed it nor sent anything since it was last used. */
  boolean isQuiet() {
    if (System.nanoTime() - usedAt < TRUSTED_WHILE_IDLE.toNanos()) {
      return true;
    }
    try {
      return !http.isStale() && !parser.hasLeftovers();
    } catch (IOException e) {
      return false;
    }
  }

  /** Closes gracefully, so that a target that is still reading the request gets all of it. */
  void close() {
    close(socket);
  }

  void abort() {
    abort(socket);
  }

  /** Closes immediately, without sending pending data or the TLS close. */
  static void abort(Socket socket) {
    try {
      socket.setSoLinger(true, 0);
    } catch (IOException e) {
      // Already closed, or never connected.
    }
    close(socket);
  }

  private static void close(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      // Nothing else can be done.
    }
  }
}
