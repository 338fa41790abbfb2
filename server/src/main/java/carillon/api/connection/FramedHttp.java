package carillon.api.connection;

import io.helidon.common.buffers.BufferData;
import io.helidon.common.buffers.DataReader;
import io.helidon.common.buffers.DataWriter;
import io.helidon.common.concurrency.limits.Limit;
import io.helidon.common.socket.HelidonSocket;
import io.helidon.common.socket.PeerInfo;
import io.helidon.common.task.InterruptableTask;
import io.helidon.webserver.ConnectionContext;
import io.helidon.webserver.ListenerContext;
import io.helidon.webserver.ProxyProtocolData;
import io.helidon.webserver.Router;
import io.helidon.webserver.ServerConnectionException;
import io.helidon.webserver.http1.Http1Connection;
import io.helidon.webserver.http1.Http1ConnectionSelector;
import io.helidon.webserver.spi.ServerConnection;
import io.helidon.webserver.spi.ServerConnectionSelector;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts {@link RequestFraming} and {@link ClientConnection} between the socket and the server's
 * HTTP/1 connection, which only sees their reader and writer.
 */
public final class FramedHttp implements ServerConnectionSelector {

  private static final Logger log = LoggerFactory.getLogger(FramedHttp.class);

  /** Discarded after an early response, so that a client that still sends can read it. */
  private static final int LINGER_BYTES = 4 << 20;

  /** Takes two seconds at the minimum rate. */
  private static final int PIECE_BYTES = 16 << 10;

  private final Http1ConnectionSelector http1;
  private final SlowClients clients;

  public FramedHttp(Http1ConnectionSelector http1, SlowClients clients) {
    this.http1 = http1;
    this.clients = clients;
  }

  @Override
  public int bytesToIdentifyConnection() {
    return 0;
  }

  @Override
  public Support supports(BufferData data) {
    return Support.SUPPORTED;
  }

  @Override
  public Set<String> supportedApplicationProtocols() {
    return http1.supportedApplicationProtocols();
  }

  @Override
  public ServerConnection connection(ConnectionContext context) {
    Context framed = new Context(context, clients.of(context));
    return new Connection((Http1Connection) http1.connection(framed), framed, clients);
  }

  /** The reader and writer of the server's connection. */
  private static final class Context implements ConnectionContext, RequestFraming.Wire {

    private final ConnectionContext context;
    private final HelidonSocket socket;
    private final ClientConnection client;
    private final RequestFraming framing = new RequestFraming(this);
    private final DataReader reader = DataReader.create(framing::next);
    private final DataWriter writer;
    private final ClientConnection.Peer peer;

    Context(ConnectionContext context, ClientConnection client) {
      this.context = context;
      this.client = client;
      this.socket = context.serverSocket();
      this.writer = new Writer(context.dataWriter(), client);
      this.peer = new ClientConnection.Peer(client, framing, context.remotePeer());
    }

    @Override
    public byte @Nullable [] read(RequestFraming.Part part) {
      return read(
          switch (part) {
            case NEXT_REQUEST -> ClientConnection.Wait.NEXT_REQUEST;
            case HEAD -> ClientConnection.Wait.HEAD;
            case BODY -> ClientConnection.Wait.BODY;
          });
    }

    private byte @Nullable [] read(ClientConnection.Wait wait) {
      client.waits(wait);
      try {
        byte[] bytes = socket.get();
        if (wait == ClientConnection.Wait.BODY) {
          client.arrived(bytes == null ? 0 : bytes.length);
        }
        return bytes;
      } catch (UncheckedIOException e) {
        throw new ServerConnectionException("cannot read from the connection", e);
      } finally {
        client.works();
      }
    }

    @Override
    public void bodyStarts(long length) {
      client.bodyStarts(length);
    }

    @Override
    public boolean isCut() {
      return client.isCut();
    }

    /**
     * If the connection were closed while the client still sends, the client's operating system
     * would discard the response. So only the output is closed, and input is discarded for a while.
     */
    void linger() {
      if (!framing.isUnread() || client.isCut() || !client.isOpen()) {
        return;
      }
      try {
        context.dataWriter().flush();
        client.endOutput();
        int left = LINGER_BYTES;
        client.waits(ClientConnection.Wait.LINGER);
        for (byte[] read = socket.get(); read != null && left > 0; read = socket.get()) {
          left -= read.length;
        }
      } catch (IOException | UncheckedIOException e) {
        log.debug("connection closed while its client was still sending", e);
      }
    }

    @Override
    public DataReader dataReader() {
      return reader;
    }

    @Override
    public DataWriter dataWriter() {
      return writer;
    }

    @Override
    public PeerInfo remotePeer() {
      return peer;
    }

    @Override
    public PeerInfo localPeer() {
      return context.localPeer();
    }

    @Override
    public ListenerContext listenerContext() {
      return context.listenerContext();
    }

    @Override
    public ExecutorService executor() {
      return context.executor();
    }

    @Override
    public Router router() {
      return context.router();
    }

    @Override
    public Optional<ProxyProtocolData> proxyProtocolData() {
      return context.proxyProtocolData();
    }

    @Override
    public HelidonSocket serverSocket() {
      return socket;
    }

    @Override
    public boolean isSecure() {
      return context.isSecure();
    }

    @Override
    public String socketId() {
      return context.socketId();
    }

    @Override
    public String childSocketId() {
      return context.childSocketId();
    }
  }

  /**
   * Measures how fast the client reads. A large buffer is written in pieces, because the progress
   * of a single write is not visible from outside.
   */
  private record Writer(DataWriter writer, ClientConnection client) implements DataWriter {

    @Override
    public void write(BufferData... buffers) {
      write(BufferData.create(buffers));
    }

    @Override
    public void write(BufferData buffer) {
      inPieces(buffer, writer::write);
    }

    @Override
    public void writeNow(BufferData... buffers) {
      writeNow(BufferData.create(buffers));
    }

    @Override
    public void writeNow(BufferData buffer) {
      inPieces(buffer, writer::writeNow);
    }

    private void inPieces(BufferData buffer, Consumer<BufferData> write) {
      while (buffer.available() > PIECE_BYTES) {
        byte[] piece = new byte[PIECE_BYTES];
        int length = buffer.read(piece);
        piece(length, () -> write.accept(BufferData.create(piece, 0, length)));
      }
      piece(buffer.available(), () -> write.accept(buffer));
    }

    private void piece(int bytes, Runnable write) {
      client.waits(ClientConnection.Wait.RESPONSE);
      write.run();
      client.taken(bytes);
      client.works();
    }

    @Override
    public void flush() {
      piece(0, writer::flush);
    }

    @Override
    public void close() {
      writer.close();
    }
  }

  /** The server's connection, from its first request to its last. */
  private record Connection(Http1Connection connection, Context context, SlowClients clients)
      implements ServerConnection, InterruptableTask<Void> {

    @Override
    public void handle(Limit limit) throws InterruptedException {
      try {
        connection.handle(limit);
      } finally {
        context.linger();
        clients.closed(context.client);
      }
    }

    @Override
    public Duration idleTime() {
      return connection.idleTime();
    }

    @Override
    public void close(boolean interrupt) {
      connection.close(interrupt);
    }

    @Override
    public boolean canInterrupt() {
      return connection.canInterrupt();
    }
  }
}
