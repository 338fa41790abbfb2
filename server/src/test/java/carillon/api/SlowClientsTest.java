package carillon.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How long is waited for clients, on connections that no server reads. */
class SlowClientsTest {

  private final SlowClients slowClients = new SlowClients(Duration.ofMillis(300));
  private final List<SocketChannel> clients = new ArrayList<>();
  private ServerSocketChannel server;

  @BeforeEach
  void listen() throws IOException {
    server = ServerSocketChannel.open();
    server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  @AfterEach
  void close() throws IOException {
    slowClients.close();
    server.close();
    for (SocketChannel client : clients) {
      client.close();
    }
  }

  private SocketChannel accept() throws IOException {
    clients.add(SocketChannel.open(server.getLocalAddress()));
    SocketChannel accepted = server.accept();
    slowClients.configureSocket(accepted);
    return accepted;
  }

  private SocketChannel connect(SocketAddress from) throws IOException {
    SocketChannel client = SocketChannel.open();
    clients.add(client);
    client.bind(from);
    client.connect(server.getLocalAddress());
    return client;
  }

  @Test
  void who_watches_may_be_idle_who_should_ask_may_not() throws IOException {
    SocketChannel watcher = accept();
    SlowClients.Connection connection = slowClients.of(watcher.getRemoteAddress());
    OutputStream out = connection.watching(Channels.newOutputStream(watcher));
    out.write(new byte[10]);
    out.flush();
    SocketChannel silent = accept();

    await().until(() -> !silent.isOpen());

    assertThat(watcher.isOpen()).isTrue();
    connection.waits(); // the stream is over
    await().until(() -> !watcher.isOpen());
  }

  @Test
  void who_watches_and_does_not_read_is_cut_off() throws IOException {
    SocketChannel watcher = accept();
    OutputStream out =
        slowClients.of(watcher.getRemoteAddress()).watching(Channels.newOutputStream(watcher));
    Thread writer =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    while (true) {
                      out.write(new byte[1 << 16]);
                    }
                  } catch (IOException e) {
                    // cut off
                  }
                });

    await().until(() -> !watcher.isOpen());
    await().until(() -> !writer.isAlive());
  }

  @Test
  void a_dead_connection_takes_none_with_it_that_has_got_its_port() throws IOException {
    // Of an address that nobody else connects from, so that nobody else has the port meanwhile.
    SocketChannel first = connect(new InetSocketAddress("127.0.0.77", 0));
    SocketChannel gone = server.accept();
    slowClients.configureSocket(gone);
    SocketAddress address = gone.getRemoteAddress();
    SlowClients.Connection dead = slowClients.of(address);
    first.setOption(StandardSocketOptions.SO_LINGER, 0);
    first.close(); // at once, so that its port is free
    assertThat(connect(address).getLocalAddress()).isEqualTo(address);
    SocketChannel accepted = server.accept();
    slowClients.configureSocket(accepted);
    OutputStream out = slowClients.of(address).watching(Channels.newOutputStream(accepted));
    out.write(new byte[10]);
    out.flush();

    dead.drop();
    dead.waits(); // as at the end of every request
    SocketChannel silent = accept();
    await().until(() -> !silent.isOpen());

    assertThat(gone.isOpen()).isFalse();
    assertThat(accepted.isOpen()).isTrue();
  }
}
