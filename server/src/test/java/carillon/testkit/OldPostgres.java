package carillon.testkit;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * A fake server that speaks just enough of PostgreSQL's protocol to pass for an old version: it
 * accepts every login and reports the configured version.
 */
public final class OldPostgres implements AutoCloseable {

  private static final int SSL_REQUEST = 80877103;
  private static final int GSS_REQUEST = 80877104;

  private final ServerSocket listener;
  private final String version;
  private final String versionNumber;

  public OldPostgres(String version, String versionNumber) {
    this.version = version;
    this.versionNumber = versionNumber;
    try {
      this.listener = new ServerSocket(0, 10, InetAddress.ofLiteral("127.0.0.1"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Thread.ofVirtual().start(this::accept);
  }

  public String url() {
    return "postgresql://user:password@127.0.0.1:" + listener.getLocalPort() + "/db";
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        Socket socket = listener.accept();
        Thread.ofVirtual().start(() -> serve(socket));
      } catch (IOException e) {
        // Closed.
      }
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      DataInputStream in = new DataInputStream(socket.getInputStream());
      DataOutputStream out = new DataOutputStream(socket.getOutputStream());
      welcome(in, out);
      @Nullable String value = null;
      for (byte type = in.readByte(); type != 'X'; type = in.readByte()) {
        String body = new String(in.readNBytes(in.readInt() - 4), StandardCharsets.UTF_8);
        switch (type) {
          case 'P' -> {
            value =
                body.contains("server_version_num")
                    ? versionNumber
                    : body.contains("server_version") ? version : null;
            send(out, '1');
          }
          case 'B' -> send(out, '2');
          case 'D' -> describe(out, value);
          case 'E' -> execute(out, value);
          case 'S' -> ready(out);
          case 'Q' -> {
            execute(out, null);
            ready(out);
          }
          default -> {
            // Other messages do not change the version.
          }
        }
      }
    } catch (IOException e) {
      // The client closed the connection.
    }
  }

  private void welcome(DataInputStream in, DataOutputStream out) throws IOException {
    for (boolean isStartup = false; !isStartup; ) {
      int length = in.readInt();
      int code = in.readInt();
      in.readNBytes(length - 8);
      isStartup = code != SSL_REQUEST && code != GSS_REQUEST;
      if (!isStartup) {
        out.write('N');
      }
    }
    send(out, 'R', new byte[4]);
    String[] parameters = {
      "server_version", version,
      "client_encoding", "UTF8",
      "DateStyle", "ISO, MDY",
      "TimeZone", "UTC",
      "integer_datetimes", "on",
      "standard_conforming_strings", "on"
    };
    for (int i = 0; i < parameters.length; i += 2) {
      send(out, 'S', text(parameters[i]), text(parameters[i + 1]));
    }
    ready(out);
  }

  private static void describe(DataOutputStream out, @Nullable String value) throws IOException {
    if (value == null) {
      send(out, 'n');
    } else { // one column of text
      send(
          out,
          'T',
          new byte[] {0, 1},
          text("v"),
          new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 0, 25, -1, -1, -1, -1, -1, -1, 0, 0});
    }
  }

  private static void execute(DataOutputStream out, @Nullable String value) throws IOException {
    if (value != null) {
      byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
      send(out, 'D', new byte[] {0, 1, 0, 0, 0, (byte) bytes.length}, bytes);
    }
    send(out, 'C', text(value == null ? "SET" : "SHOW"));
  }

  private static void ready(DataOutputStream out) throws IOException {
    send(out, 'Z', new byte[] {'I'});
    out.flush();
  }

  private static byte[] text(String text) {
    return (text + "\0").getBytes(StandardCharsets.UTF_8);
  }

  private static void send(DataOutputStream out, char type, byte[]... parts) throws IOException {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      body.write(part);
    }
    out.write(type);
    out.writeInt(body.size() + 4);
    out.write(body.toByteArray());
  }

  @Override
  public void close() throws IOException {
    listener.close();
  }
}
