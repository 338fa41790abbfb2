package carillon.chaos.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A relay in front of a server that the test simulates. */
class RelayTest {

  private static final int SHORT_MILLIS = 200;

  private ServerSocket target;
  private Relay relay;
  private Socket client;
  private Socket server;

  @BeforeEach
  void connect() throws IOException {
    target = new ServerSocket(0, 10, InetAddress.ofLiteral("127.0.0.1"));
    relay = Relay.to(target.getLocalPort());
    client = new Socket(InetAddress.ofLiteral("127.0.0.1"), relay.port());
    client.setSoTimeout(5_000);
    server = target.accept();
    server.setSoTimeout(5_000);
  }

  @AfterEach
  void close() throws IOException {
    client.close();
    server.close();
    relay.close();
    target.close();
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
  }

  private static String receive(Socket socket, int length) throws IOException {
    return new String(socket.getInputStream().readNBytes(length), StandardCharsets.US_ASCII);
  }

  private static void receivesNothing(Socket socket) throws IOException {
    socket.setSoTimeout(SHORT_MILLIS);
    assertThatThrownBy(() -> socket.getInputStream().read())
        .isInstanceOf(SocketTimeoutException.class);
    socket.setSoTimeout(5_000);
  }

  @Test
  void an_open_relay_passes_both_directions() throws IOException {
    send(client, "up");
    send(server, "down");

    assertThat(receive(server, 2)).isEqualTo("up");
    assertThat(receive(client, 4)).isEqualTo("down");
  }

  @Test
  void blocked_bytes_arrive_when_the_relay_opens() throws IOException {
    relay.block();
    send(client, "up");
    send(server, "down");
    receivesNothing(server);
    receivesNothing(client);

    relay.pass();

    assertThat(receive(server, 2)).isEqualTo("up");
    assertThat(receive(client, 4)).isEqualTo("down");
  }

  @Test
  void blocked_responses_do_not_block_requests() throws IOException {
    relay.blockResponses();
    send(client, "up");
    send(server, "down");

    assertThat(receive(server, 2)).isEqualTo("up");
    receivesNothing(client);
  }

  @Test
  void a_delay_delays_the_bytes() throws IOException {
    relay.delay(Duration.ofMillis(SHORT_MILLIS));
    long began = System.nanoTime();
    send(client, "up");

    assertThat(receive(server, 2)).isEqualTo("up");
    assertThat(Duration.ofNanos(System.nanoTime() - began))
        .isGreaterThanOrEqualTo(Duration.ofMillis(SHORT_MILLIS));
  }

  @Test
  void a_connection_through_a_blocked_relay_is_made_when_it_opens() throws IOException {
    relay.block();
    try (Socket second = new Socket(InetAddress.ofLiteral("127.0.0.1"), relay.port())) {
      target.setSoTimeout(SHORT_MILLIS);
      assertThatThrownBy(target::accept).isInstanceOf(SocketTimeoutException.class);
      target.setSoTimeout(5_000);

      relay.pass();

      try (Socket reached = target.accept()) {
        send(second, "up");
        assertThat(receive(reached, 2)).isEqualTo("up");
      }
    }
  }

  @Test
  void a_reset_closes_every_connection() {
    relay.rst();

    assertThatThrownBy(
            () -> {
              if (client.getInputStream().read() < 0) {
                throw new IOException("ended");
              }
            })
        .isInstanceOf(IOException.class)
        .isNotInstanceOf(SocketTimeoutException.class); // which would mean an open connection
    await().untilAsserted(() -> assertThat(relay.ports()).isEmpty());
  }

  @Test
  void a_cut_commit_of_a_write_arrives_without_a_response() throws IOException {
    relay.cutCommits(1);
    client.getOutputStream().write(startup());
    receive(server, startup().length);
    for (String statement : List.of("SELECT 1 FOR UPDATE", "COMMIT", "UPDATE a SET b = 1")) {
      client.getOutputStream().write(query(statement));
      receive(server, query(statement).length);
      send(server, "one");
      assertThat(receive(client, 3)).as(statement).isEqualTo("one");
    }

    client.getOutputStream().write(query("COMMIT"));
    assertThat(receive(server, query("COMMIT").length)).contains("COMMIT");
    CompletableFuture<Integer> answer =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return client.getInputStream().read();
              } catch (IOException e) {
                return -1;
              }
            });
    send(server, "done");

    assertThat(answer.join()).isEqualTo(-1);
    assertThat(relay.cuts()).isEqualTo(1);
  }

  static byte[] startup() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeInt(9);
    out.writeInt(196608);
    out.writeByte(0);
    return bytes.toByteArray();
  }

  static byte[] query(String text) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeByte('Q');
    out.writeInt(text.length() + 5);
    out.writeBytes(text);
    out.writeByte(0);
    return bytes.toByteArray();
  }
}
