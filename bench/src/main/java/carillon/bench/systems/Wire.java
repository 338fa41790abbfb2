package carillon.bench.systems;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * One HTTP/1.1 connection, kept alive, with one request at a time. Minimal, because it runs on the
 * cores that are being measured.
 */
public final class Wire implements AutoCloseable {

  private static final String LENGTH = "content-length:";
  private static final String OK = "HTTP/1.1 2";

  private final Socket socket = new Socket();
  private final InputStream in;
  private final OutputStream out;
  private final String headers;

  /**
   * @param headers header lines of every request, each with its line end
   */
  Wire(URI url, String headers) throws IOException {
    socket.setTcpNoDelay(true);
    socket.connect(new InetSocketAddress(url.getHost(), url.getPort()));
    this.in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
    this.out = socket.getOutputStream();
    this.headers = "Host: " + url.getAuthority() + "\r\n" + headers;
  }

  /** Sends a request and returns the body of the response; throws unless it is a 2xx. */
  public byte[] post(String path, String mediaType, byte[] body) throws IOException {
    String head =
        "POST %s HTTP/1.1\r\n%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
            .formatted(path, headers, mediaType, body.length);
    byte[] start = head.getBytes(StandardCharsets.US_ASCII);
    byte[] request = new byte[start.length + body.length];
    System.arraycopy(start, 0, request, 0, start.length);
    System.arraycopy(body, 0, request, start.length, body.length);
    out.write(request);
    out.flush();
    return response();
  }

  /** Sends a GET request and returns the body of the response; throws unless it is a 2xx. */
  public byte[] get(String path) throws IOException {
    sendGet(path);
    return response();
  }

  /** Opens an endless response; returns its raw body, including the chunk lengths. */
  public InputStream open(String path) throws IOException {
    sendGet(path);
    String status = line(in);
    if (!status.startsWith(OK)) {
      throw failed(status, in.readNBytes(length(in)));
    }
    length(in);
    return in;
  }

  private void sendGet(String path) throws IOException {
    out.write(
        "GET %s HTTP/1.1\r\n%s\r\n".formatted(path, headers).getBytes(StandardCharsets.US_ASCII));
    out.flush();
  }

  private byte[] response() throws IOException {
    String status = line(in);
    byte[] response = in.readNBytes(length(in));
    if (!status.startsWith(OK)) {
      throw failed(status, response);
    }
    return response;
  }

  private static IOException failed(String status, byte[] response) {
    return new IOException(status + " " + new String(response, StandardCharsets.UTF_8));
  }

  /** Reads the rest of the headers and returns the content length. */
  public static int length(InputStream in) throws IOException {
    int length = 0;
    for (String line = line(in); !line.isEmpty(); line = line(in)) {
      if (line.toLowerCase(Locale.ROOT).startsWith(LENGTH)) {
        length = Integer.parseInt(line.substring(LENGTH.length()).strip());
      }
    }
    return length;
  }

  /** Returns the next line, which is empty at the end of the headers. */
  static String line(InputStream in) throws IOException {
    StringBuilder line = new StringBuilder(64);
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        throw new IOException("the connection was closed");
      }
      if (c != '\r') {
        line.append((char) c);
      }
    }
    return line.toString();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
