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

/** A relay in front of a server that the test plays itself. */
class RelayTest {

  private static final int A_MOMENT = 200;

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

  private static void say(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
  }

  private static String hear(Socket socket, int length) throws IOException {
    return new String(socket.getInputStream().readNBytes(length), StandardCharsets.US_ASCII);
  }

  private static void hearsNothing(Socket socket) throws IOException {
    socket.setSoTimeout(A_MOMENT);
    assertThatThrownBy(() -> socket.getInputStream().read())
        .isInstanceOf(SocketTimeoutException.class);
    socket.setSoTimeout(5_000);
  }

  @Test
  void it_passes_both_ways() throws IOException {
    say(client, "up");
    say(server, "down");

    assertThat(hear(server, 2)).isEqualTo("up");
    assertThat(hear(client, 4)).isEqualTo("down");
  }

  @Test
  void what_is_dropped_arrives_when_the_line_is_whole_again() throws IOException {
    relay.drop();
    say(client, "up");
    say(server, "down");
    hearsNothing(server);
    hearsNothing(client);

    relay.pass();

    assertThat(hear(server, 2)).isEqualTo("up");
    assertThat(hear(client, 4)).isEqualTo("down");
  }

  @Test
  void a_half_line_lets_questions_through_and_no_answers() throws IOException {
    relay.half();
    say(client, "up");
    say(server, "down");

    assertThat(hear(server, 2)).isEqualTo("up");
    hearsNothing(client);
  }

  @Test
  void a_slow_line_takes_its_time() throws IOException {
    relay.delay(Duration.ofMillis(A_MOMENT));
    long began = System.nanoTime();
    say(client, "up");

    assertThat(hear(server, 2)).isEqualTo("up");
    assertThat(Duration.ofNanos(System.nanoTime() - began))
        .isGreaterThanOrEqualTo(Duration.ofMillis(A_MOMENT));
  }

  @Test
  void who_connects_to_a_line_that_drops_reaches_nobody_until_it_heals() throws IOException {
    relay.drop();
    try (Socket second = new Socket(InetAddress.ofLiteral("127.0.0.1"), relay.port())) {
      target.setSoTimeout(A_MOMENT);
      assertThatThrownBy(target::accept).isInstanceOf(SocketTimeoutException.class);
      target.setSoTimeout(5_000);

      relay.pass();

      try (Socket reached = target.accept()) {
        say(second, "up");
        assertThat(hear(reached, 2)).isEqualTo("up");
      }
    }
  }

  @Test
  void a_reset_ends_every_connection() {
    relay.rst();

    assertThatThrownBy(
            () -> {
              if (client.getInputStream().read() < 0) {
                throw new IOException("ended");
              }
            })
        .isInstanceOf(IOException.class)
        .isNotInstanceOf(SocketTimeoutException.class); // that would be a connection that lives
    await().untilAsserted(() -> assertThat(relay.ports()).isEmpty());
  }

  @Test
  void a_commit_of_a_write_that_is_cut_arrives_and_its_answer_does_not() throws IOException {
    relay.cutCommits(1);
    client.getOutputStream().write(startup());
    hear(server, startup().length);
    for (String statement : List.of("SELECT 1 FOR UPDATE", "COMMIT", "UPDATE a SET b = 1")) {
      client.getOutputStream().write(query(statement));
      hear(server, query(statement).length);
      say(server, "one");
      assertThat(hear(client, 3)).as(statement).isEqualTo("one");
    }

    client.getOutputStream().write(query("COMMIT"));
    assertThat(hear(server, query("COMMIT").length)).contains("COMMIT");
    CompletableFuture<Integer> answer =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return client.getInputStream().read();
              } catch (IOException e) {
                return -1;
              }
            });
    say(server, "done");

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
