package carillon.api.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.helidon.http.RequestException;
import io.helidon.webserver.CloseConnectionException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The parser of the server receives the same bytes in whatever pieces they arrive. */
class RequestFramingTest {

  /** Bytes that arrive in pieces. */
  private static final class Pieces implements RequestFraming.Wire {

    private final Deque<byte[]> left = new ArrayDeque<>();
    private final List<RequestFraming.Part> waits = new ArrayList<>();
    private boolean cut;

    Pieces(String text, int size) {
      byte[] all = text.getBytes(StandardCharsets.ISO_8859_1);
      for (int i = 0; i < all.length; i += size) {
        left.add(Arrays.copyOfRange(all, i, Math.min(all.length, i + size)));
      }
    }

    @Override
    public byte @Nullable [] read(RequestFraming.Part part) {
      waits.add(part);
      return left.poll();
    }

    @Override
    public void bodyStarts(long length) {}

    @Override
    public boolean isCut() {
      return cut;
    }
  }

  /** Returns all output if every request gets its response as soon as it is complete. */
  private static String all(String text, int size) {
    RequestFraming framing = new RequestFraming(new Pieces(text, size));
    StringBuilder out = new StringBuilder();
    for (byte[] next = framing.next(); next != null; next = framing.next()) {
      out.append(new String(next, StandardCharsets.ISO_8859_1));
      if (framing.isBodyComplete()) {
        framing.answered(false);
      }
    }
    return out.toString();
  }

  private static String dechunked(String text) {
    return text.replaceAll("[0-9a-f]{6}\r\n([^\r]*)\r\n", "$1");
  }

  @Test
  void requests_are_the_same_in_pieces_of_any_size() {
    String text =
        """
        GET /a HTTP/1.1
        Host: x

        POST /b HTTP/1.1
        content-length: 5

        helloPOST /c HTTP/1.1
        Transfer-Encoding: chunked

        3;name="v"
        abc
        00A
        0123456789
        0
        X-Sum: 1

        GET /d HTTP/1.1
        Connection: close

        """
            .replace("\n", "\r\n");
    String expected =
        """
        GET /a HTTP/1.1
        Host: x

        POST /b HTTP/1.1
        content-length: 5

        helloPOST /c HTTP/1.1
        Transfer-Encoding: chunked

        abc01234567890

        GET /d HTTP/1.1
        Connection: close

        """
            .replace("\n", "\r\n");

    for (int size = 1; size <= text.length(); size++) {
      assertThat(dechunked(all(text, size))).as("pieces of %d", size).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "http://host/v1/me,/v1/me",
    "HTTPS://host:8443/v1/me?a=b,/v1/me?a=b",
    "http://[::1]:8080,/",
    "http://h?a=/b@c,/?a=/b@c",
    "http://h//x,//x",
    "ftp://h/x,ftp://h/x",
    "http:/x,http:/x",
    "*,*",
    "host:80,host:80"
  })
  void an_absolute_url_is_served_by_its_path(String target, String served) {
    String rest = " HTTP/1.1\r\nHost: h\r\n\r\n";
    String twice = ("GET " + target + rest).repeat(2);
    for (int size = 1; size <= twice.length(); size++) {
      assertThat(all(twice, size)).isEqualTo(("GET " + served + rest).repeat(2));
    }
    assertThat(all("POST " + target + " HTTP/1.0\r\nContent-Length: 1\r\n\r\nx", 999))
        .startsWith("POST " + served + " HTTP/1.1\r\nHost:");
  }

  @ParameterizedTest
  @ValueSource(strings = {"http:///x", "http://?x", "http://user@h/x", "http://h#/x"})
  void an_absolute_url_without_a_plain_host_is_rejected(String target) {
    assertThatThrownBy(() -> all("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n", 999))
        .isInstanceOf(RequestException.class)
        .hasMessageContaining("host");
  }

  @Test
  void a_head_and_its_body_are_never_handed_over_together() {
    RequestFraming framing =
        new RequestFraming(
            new Pieces(
                "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}GET / HTTP/1.1\r\n\r\n", 999));

    assertThat(framing.next()).asString().endsWith("\r\n\r\n");
    framing.answered(false); // early: the body is not read yet
    assertThat(framing.next()).isNull();
    assertThat(framing.isUnread()).isTrue();
  }

  @Test
  void the_next_request_waits_for_the_response_to_this_one() {
    RequestFraming framing =
        new RequestFraming(new Pieces("GET / HTTP/1.1\r\n\r\n".repeat(2), 999));

    assertThat(framing.next()).hasSize(18);
    assertThat(framing.next()).isNull();
  }

  @Test
  void a_chunk_is_handed_over_as_it_arrives_however_large_it_is() {
    RequestFraming framing =
        new RequestFraming(
            new Pieces("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3ffffff\r\nabc", 999));

    framing.next();
    assertThat(framing.next()).asString().isEqualTo("000003\r\nabc\r\n");
  }

  @Test
  void http_1_0_becomes_http_1_1() {
    String head = "GET / HTTP/1.0\r\nA: b\r\nExpect: 100-continue\r\nC: d\r\n\r\n";
    RequestFraming framing = new RequestFraming(new Pieces(head, 7));

    assertThat(framing.next())
        .asString()
        .isEqualTo("GET / HTTP/1.1\r\nHost: localhost\r\nA: b\r\nC: d\r\n\r\n");
    assertThat(framing.wantsClose()).isTrue();
    assertThat(framing.isHttp10()).isTrue();
  }

  @Test
  void a_read_names_the_part_that_it_waits_for() {
    Pieces pieces = new Pieces("GET / HTTP/1.1\r\nContent-Length: 9\r\n\r\n.........", 20);
    RequestFraming framing = new RequestFraming(pieces);

    framing.next(); // the head, which ends in the second piece
    framing.next(); // the start of the body in that piece
    framing.next();

    assertThat(pieces.waits)
        .containsExactly(
            RequestFraming.Part.NEXT_REQUEST, RequestFraming.Part.HEAD, RequestFraming.Part.BODY);
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET / HT", "\r\n", "GET / HTTP/1.1\r\nA: b\r\n"})
  void an_incomplete_head_is_not_a_request(String text) {
    RequestFraming ended = new RequestFraming(new Pieces(text, 99));
    Pieces pieces = new Pieces(text, 99);
    pieces.cut = true;

    assertThatThrownBy(ended::next).isInstanceOf(CloseConnectionException.class);
    assertThatThrownBy(new RequestFraming(pieces)::next)
        .isInstanceOfSatisfying(
            RequestException.class, e -> assertThat(e.status().code()).isEqualTo(408));
  }

  @Test
  void nothing_is_handed_over_after_invalid_bytes() {
    RequestFraming framing =
        new RequestFraming(new Pieces("GET / HTTP/1.1\r\n: x\r\n\r\nGET / HTTP/1.1\r\n\r\n", 99));

    assertThatThrownBy(framing::next).isInstanceOf(RequestException.class);
    assertThat(framing.next()).isNull();
  }

  @Test
  void an_endless_head_is_rejected_before_it_fills_the_memory() {
    String endless = "GET / HTTP/1.1\r\n" + "A: b\r\n".repeat(20) + "C: " + "d".repeat(100_000);

    assertThatThrownBy(() -> all(endless, 1)).hasMessageContaining("16 KiB");
    assertThatThrownBy(() -> all("GET /" + "a".repeat(100_000), 1)).hasMessageContaining("8 KiB");
  }
}
