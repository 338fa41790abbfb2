package carillon.api.connection;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.helidon.webserver.CloseConnectionException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Timeouts and limits of connections. No server reads from these. */
class SlowClientsTest {

  private static final Duration TIMEOUT = Duration.ofMillis(300);

  private final SimpleMeterRegistry metrics = new SimpleMeterRegistry();
  private final SlowClients slowClients =
      new SlowClients(TIMEOUT, new SlowClients.Max(8, 4, 2), metrics);
  private final List<SocketChannel> clients = new ArrayList<>();
  private ServerSocketChannel server;

  @BeforeEach
  void listen() throws IOException {
    server = ServerSocketChannel.open();
    server.bind(new InetSocketAddress(InetAddress.getByName("0.0.0.0"), 0));
  }

  @AfterEach
  void close() throws IOException {
    slowClients.close();
    server.close();
    for (SocketChannel client : clients) {
      client.close();
    }
  }

  /** Both ends of a connection. */
  private record Accepted(SocketChannel channel, ClientConnection connection) {

    boolean isOpen() {
      return channel.isOpen();
    }

    void write(int bytes) throws IOException {
      connection.waits(ClientConnection.Wait.RESPONSE);
      channel.write(ByteBuffer.allocate(bytes));
      connection.works();
    }

    Accepted busy() {
      connection.requested();
      connection.works();
      return this;
    }
  }

  private Accepted accept() throws IOException {
    return accept("127.0.0.1");
  }

  private Accepted accept(String from) throws IOException {
    connect(new InetSocketAddress(from, 0));
    SocketChannel accepted = server.accept();
    return new Accepted(accepted, slowClients.accept(accepted));
  }

  private SocketChannel connect(SocketAddress from) throws IOException {
    SocketChannel client = SocketChannel.open();
    clients.add(client);
    client.bind(from);
    int port = ((InetSocketAddress) server.getLocalAddress()).getPort();
    client.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    return client;
  }

  private double dropped(ClientConnection.Drop reason) {
    return metrics
        .get("carillon.connections.dropped")
        .tag("reason", reason.label())
        .counter()
        .count();
  }

  @Test
  void an_event_stream_may_be_idle_and_a_client_without_a_request_may_not() throws IOException {
    Accepted watcher = accept();
    watcher.write(10);
    Accepted silent = accept();

    await().until(() -> !silent.isOpen());

    assertThat(watcher.isOpen()).isTrue();
    watcher.connection().waits(ClientConnection.Wait.NEXT_REQUEST); // the stream has ended
    await().until(() -> !watcher.isOpen());
    await().until(() -> dropped(ClientConnection.Drop.IDLE) == 2);
  }

  @Test
  void a_connection_with_unread_bytes_of_a_request_is_not_idle() throws IOException {
    Accepted unread = accept();
    clients.getLast().write(ByteBuffer.wrap("GET / HTTP/1.1\r\n".getBytes(US_ASCII)));
    Accepted silent = accept();

    await().until(() -> !silent.isOpen());

    assertThat(unread.isOpen()).isTrue();
    unread.channel().read(ByteBuffer.allocate(100));
    await().until(() -> !unread.isOpen()); // its bytes are read, and nothing follows
  }

  @Test
  void an_event_stream_that_is_not_read_is_disconnected() throws IOException {
    Accepted watcher = accept();
    Thread writer =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    while (true) {
                      watcher.write(1 << 16);
                    }
                  } catch (IOException e) {
                    // cut off
                  }
                });

    await().until(() -> !watcher.isOpen());
    await().until(() -> !writer.isAlive());
    await().until(() -> dropped(ClientConnection.Drop.SLOW_READER) == 1);
  }

  @Test
  void a_large_response_that_is_read_too_slowly_is_cut_off_and_a_small_one_is_not()
      throws IOException {
    Accepted large = accept().busy();
    Accepted small = accept().busy();
    large.connection().taken(ClientConnection.LARGE_BODY + 1);
    await()
        .pollInterval(Duration.ofMillis(50))
        .until(
            () -> {
              for (Accepted each : List.of(large, small)) {
                each.connection().taken(1);
                each.connection().waits(ClientConnection.Wait.RESPONSE);
              }
              return !large.isOpen();
            });

    assertThat(small.isOpen()).isTrue();
    await().until(() -> dropped(ClientConnection.Drop.SLOW_READER) == 1);
  }

  @Test
  void a_dead_connection_does_not_close_another_one_with_its_port() throws IOException {
    // From an address that no other test uses, so that the port stays free.
    SocketChannel first = connect(new InetSocketAddress("127.0.0.77", 0));
    SocketChannel gone = server.accept();
    SocketAddress address = gone.getRemoteAddress();
    ClientConnection dead = slowClients.accept(gone);
    first.setOption(StandardSocketOptions.SO_LINGER, 0);
    first.close(); // frees its port
    assertThat(connect(address).getLocalAddress()).isEqualTo(address);
    SocketChannel channel = server.accept();
    Accepted accepted = new Accepted(channel, slowClients.accept(channel));
    accepted.write(10);

    dead.drop();
    dead.waits(ClientConnection.Wait.NEXT_REQUEST); // as at the end of every request
    slowClients.closed(dead);
    Accepted silent = accept();
    await().until(() -> !silent.isOpen());

    assertThat(gone.isOpen()).isFalse();
    assertThat(accepted.isOpen()).isTrue();
  }

  /** Reads on its own thread, as the server does, and returns how the read ended. */
  private static boolean isCutWhileReading(Accepted accepted) throws IOException {
    int read = accepted.channel().read(ByteBuffer.allocate(10));
    return read < 0 && accepted.connection().isCut() && accepted.isOpen();
  }

  @Test
  void a_stalled_body_is_cut_off_but_still_gets_a_response() throws IOException {
    Accepted upload = accept();
    upload.connection().bodyStarts(100);
    upload.connection().waits(ClientConnection.Wait.BODY);

    assertThat(isCutWhileReading(upload)).isTrue();
    upload.write(10);
    await().until(() -> dropped(ClientConnection.Drop.STALLED_BODY) == 1);
  }

  @Test
  void a_body_is_cut_off_at_its_deadline_without_another_byte() throws IOException {
    Accepted upload = accept();
    upload.connection().bodyStarts(100);
    upload.connection().bodyUntil(System.nanoTime());
    upload.connection().waits(ClientConnection.Wait.BODY);

    assertThat(isCutWhileReading(upload)).isTrue();
    await().until(() -> dropped(ClientConnection.Drop.BODY_DEADLINE) == 1);
  }

  @Test
  void a_large_body_that_arrives_too_slowly_is_cut_off_and_a_small_one_is_not() throws Exception {
    Accepted large = accept();
    Accepted small = accept();
    large.connection().bodyStarts(64 << 20);
    small.connection().bodyStarts(100);
    await()
        .pollInterval(Duration.ofMillis(50))
        .until(
            () -> {
              for (Accepted each : List.of(large, small)) {
                each.connection().waits(ClientConnection.Wait.BODY);
              }
              await().pollInterval(Duration.ofMillis(20)).until(() -> true);
              for (Accepted each : List.of(large, small)) {
                each.connection().arrived(1);
                each.connection().works();
                each.connection().waits(ClientConnection.Wait.BODY);
              }
              return large.connection().isCut();
            });

    assertThat(small.connection().isCut()).isFalse();
    await().until(() -> dropped(ClientConnection.Drop.SLOW_BODY) == 1);
  }

  @Test
  void a_head_that_arrives_byte_by_byte_has_one_deadline() throws IOException {
    Accepted asks = accept();
    await()
        .pollInterval(Duration.ofMillis(20))
        .until(
            () -> {
              asks.connection().waits(ClientConnection.Wait.HEAD);
              asks.connection().works();
              asks.connection().waits(ClientConnection.Wait.HEAD);
              return asks.connection().isCut();
            });

    assertThat(asks.isOpen()).isTrue();
    await().until(() -> dropped(ClientConnection.Drop.SLOW_HEAD) == 1);
  }

  @Test
  void the_longest_idle_connection_of_an_address_makes_room_for_a_new_one() throws IOException {
    Accepted keptAlive = accept();
    keptAlive.busy().connection().waits(ClientConnection.Wait.NEXT_REQUEST);
    Accepted silent = accept();
    Accepted later = accept();
    Accepted answered = accept().busy();
    Accepted elsewhere = accept("127.0.0.2");

    Accepted fifth = accept();

    assertThat(silent.isOpen()).as("idle for longest, and without a request so far").isFalse();
    assertThat(List.of(keptAlive, later, answered, elsewhere, fifth)).allMatch(Accepted::isOpen);
    assertThat(fifth.connection().isReserved()).isFalse();
    await().until(() -> dropped(ClientConnection.Drop.MADE_ROOM) == 1);
    assertThat(metrics.get("carillon.connections").gauge().value()).isEqualTo(5);
  }

  @Test
  void a_connection_beyond_the_limit_is_reserved_for_health_checks() throws IOException {
    for (int i = 0; i < 4; i++) {
      accept().busy();
    }
    Accepted waits = accept();
    Accepted asks = accept().busy();
    assertThat(List.of(waits, asks)).allMatch(each -> each.connection().isReserved());

    assertThat(accept().busy().connection().isReserved()).isTrue();

    assertThat(waits.isOpen()).as("the only connection that waits for its client").isFalse();
    assertThatThrownBy(this::accept).isInstanceOf(CloseConnectionException.class);
    await().until(() -> dropped(ClientConnection.Drop.ADDRESS_LIMIT) == 1);
    assertThat(accept("127.0.0.2").connection().isReserved()).as("from another address").isFalse();
  }

  @Test
  void all_addresses_together_have_a_limit() throws IOException {
    for (int i = 0; i < 7; i++) {
      accept("127.0.1." + i / 2).busy();
    }
    Accepted idle = accept("127.0.1.5");

    assertThat(accept("127.0.1.6").busy().connection().isReserved()).isFalse();

    assertThat(idle.isOpen()).isFalse();
    Accepted health = accept("127.0.1.7");
    assertThat(health.connection().isReserved()).isTrue();
    assertThat(accept("127.0.1.8").connection().isReserved()).isTrue();
    assertThat(health.isOpen()).as("closing a reserved connection makes no room").isTrue();
  }

  @Test
  void a_large_body_with_unread_bytes_is_not_slow() throws IOException {
    Accepted unread = accept().busy();
    clients.getLast().write(ByteBuffer.allocate(100));
    unread.connection().bodyStarts(10 << 20);
    unread.connection().waits(ClientConnection.Wait.BODY);
    Accepted slow = accept().busy();
    slow.connection().bodyStarts(10 << 20);
    slow.connection().waits(ClientConnection.Wait.BODY);

    await().until(() -> slow.connection().isCut());

    assertThat(unread.connection().isCut()).isFalse();
  }

  @Test
  void a_closed_connection_makes_room_for_another() throws IOException {
    for (int i = 0; i < 20; i++) {
      Accepted accepted = accept().busy();
      assertThat(accepted.connection().isReserved()).isFalse();
      slowClients.closed(accepted.connection());
    }
    assertThat(metrics.get("carillon.connections").gauge().value()).isZero();
  }
}
