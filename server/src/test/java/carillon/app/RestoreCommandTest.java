package carillon.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code carillon dead-letter restore} with scripted responses. */
class RestoreCommandTest {

  @TempDir Path directory;

  private FakeApi api;
  private Terminal terminal;

  @BeforeEach
  void start() throws IOException {
    api = new FakeApi();
    terminal = new Terminal(directory, api.url(), "k");
  }

  @AfterEach
  void stop() {
    api.close();
  }

  private int restore(String... more) {
    List<String> args = new ArrayList<>(List.of("dead-letter", "restore"));
    args.addAll(List.of(more));
    return terminal.run(args.toArray(String[]::new));
  }

  private static String line(String tenant, int n) {
    return "{\"format\":1,\"tenant\":\"%s\",\"n\":%d,\"payload\":1.0}".formatted(tenant, n);
  }

  private static byte[] zipped(String... lines) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (OutputStream zip = new GZIPOutputStream(bytes)) {
      zip.write((String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8));
    }
    return bytes.toByteArray();
  }

  private void file(String name, byte[] bytes) throws IOException {
    Files.write(directory.resolve(name), bytes);
  }

  @Test
  void each_tenant_receives_its_lines_unchanged() throws IOException {
    api.responding(200, "{\"restored\": 1, \"present\": 2}");
    file("a.gz", zipped(line("one", 1), line("two", 2), "", line("one", 3)));

    assertThat(restore("a.gz", "--json")).as(terminal.err()).isZero();

    assertThat(api.requests())
        .extracting(FakeApi.Request::line)
        .containsOnly("POST /v1/dead-letters/restore");
    assertThat(api.requests()).extracting(FakeApi.Request::tenant).containsExactly("one", "two");
    assertThat(api.requests())
        .extracting(FakeApi.Request::body)
        .containsExactly(line("one", 1) + "\n" + line("one", 3) + "\n", line("two", 2) + "\n");
    assertThat(terminal.out()).isEqualTo("{\"restored\":2,\"present\":4}\n");
    assertThat(terminal.err()).isEmpty();
  }

  @Test
  void plain_lines_are_read_from_standard_input_and_filtered_by_tenant() {
    api.responding(200, "{\"restored\": 1, \"present\": 0}");
    terminal.input = line("one", 1) + "\n" + line("two", 2);

    assertThat(restore("-", "--tenant", "two")).as(terminal.err()).isZero();

    assertThat(api.only().tenant()).isEqualTo("two");
    assertThat(api.only().body()).isEqualTo(line("two", 2) + "\n");
  }

  @Test
  void the_newest_file_is_first_and_many_lines_are_sent_in_chunks() throws IOException {
    api.responding(200, "{\"restored\": 200, \"present\": 0}");
    String[] many = new String[450];
    Arrays.setAll(many, n -> line("one", n));
    file("dead-letters-2026-01-01.gz", zipped(line("old", 1)));
    file("dead-letters-2026-02-01.gz", zipped(many));

    assertThat(restore("dead-letters-2026-01-01.gz", "dead-letters-2026-02-01.gz")).isZero();

    assertThat(api.requests())
        .extracting(FakeApi.Request::tenant)
        .containsExactly("one", "one", "one", "old");
    assertThat(api.requests())
        .extracting(request -> request.body().lines().count())
        .containsExactly(200L, 200L, 50L, 1L);
  }

  @Test
  void a_rejected_line_is_reported_by_its_number_in_the_file() throws IOException {
    api.responding(
        422,
        "{\"detail\": \"x\", \"errors\": [{\"pointer\": \"/lines/1/fence\", \"message\": \"is"
            + " bad\"}]}");
    file("a.gz", zipped(line("two", 1), "", line("one", 2), line("one", 3)));
    api.responding(200, "{}");

    assertThat(restore("a.gz", "--tenant", "one")).isEqualTo(2);

    assertThat(terminal.err()).isEqualTo("carillon: a.gz: line 4: /fence is bad\n");
  }

  @Test
  void an_unknown_tenant_is_named() throws IOException {
    api.responding(404, "{\"detail\": \"unknown tenant\"}");
    file("a.gz", zipped(line("gone", 1)));
    file("b", line("Not A Name", 1).getBytes(StandardCharsets.UTF_8));

    assertThat(restore("a.gz")).isEqualTo(2);
    assertThat(restore("b")).isEqualTo(2);

    assertThat(terminal.err().lines())
        .containsExactly(
            "carillon: a.gz: tenant \"gone\": unknown tenant",
            "carillon: b: line 1: \"Not A Name\" is not a valid tenant name");
    assertThat(api.requests()).hasSize(1);
  }

  @Test
  void a_damaged_file_restores_nothing() throws IOException {
    String[] many = new String[400];
    Arrays.setAll(many, n -> line("one", n * 7919));
    byte[] whole = zipped(many);
    file("cut.gz", Arrays.copyOf(whole, whole.length - 30));

    assertThat(restore("cut.gz")).isEqualTo(2);

    assertThat(terminal.err())
        .contains("cut.gz: is damaged or truncated; nothing was restored")
        .hasLineCount(1);
    assertThat(api.requests()).isEmpty();
  }

  @Test
  void a_file_that_is_not_an_archive_is_one_line() throws IOException {
    file("text", "hello\n".getBytes(StandardCharsets.UTF_8));
    file("json", "[1]\n".getBytes(StandardCharsets.UTF_8));
    file("fake.gz", new byte[] {0x1f, (byte) 0x8b, 1, 2});

    assertThat(restore("none")).isEqualTo(2);
    assertThat(restore("text")).isEqualTo(2);
    assertThat(restore("json")).isEqualTo(2);
    assertThat(restore("fake.gz")).isEqualTo(2);
    assertThat(restore()).isEqualTo(2);

    assertThat(terminal.err().lines())
        .satisfiesExactly(
            line ->
                assertThat(line).isEqualTo("carillon: none: cannot read the file: no such file"),
            line -> assertThat(line).contains("text: line 1 has no tenant"),
            line -> assertThat(line).contains("json: line 1 has no tenant"),
            line -> assertThat(line).startsWith("carillon: fake.gz: cannot read the file: "),
            line -> assertThat(line).contains("Missing required parameter: 'FILE'"));
    assertThat(api.requests()).isEmpty();
  }

  @Test
  void an_empty_file_restores_nothing() throws IOException {
    file("empty.gz", zipped());

    assertThat(restore("empty.gz", "--json")).as(terminal.err()).isZero();

    assertThat(terminal.out()).isEqualTo("{\"restored\":0,\"present\":0}\n");
    assertThat(api.requests()).isEmpty();
  }

  @Test
  void an_endless_line_is_not_read_into_memory() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (OutputStream zip = new GZIPOutputStream(bytes)) {
      byte[] block = new byte[1 << 20];
      Arrays.fill(block, (byte) 'x');
      for (int i = 0; i < 40; i++) {
        zip.write(block);
      }
    }
    file("bomb.gz", bytes.toByteArray());

    assertThat(restore("bomb.gz")).isEqualTo(2);

    assertThat(terminal.err()).contains("line 1 has more than 33554432 bytes").hasLineCount(1);
  }
}
