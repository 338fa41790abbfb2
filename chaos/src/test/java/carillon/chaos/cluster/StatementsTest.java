package carillon.chaos.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StatementsTest {

  private final ByteArrayOutputStream sent = new ByteArrayOutputStream();
  private final DataOutputStream out = new DataOutputStream(sent);

  private void message(char type, String... texts) throws IOException {
    int length = 4;
    for (String text : texts) {
      length += text.length() + 1;
    }
    out.writeByte(type);
    out.writeInt(length);
    for (String text : texts) {
      out.writeBytes(text);
      out.writeByte(0);
    }
  }

  private List<String> readInPiecesOf(int size) {
    Statements statements = new Statements();
    List<String> found = new ArrayList<>();
    byte[] all = sent.toByteArray();
    for (int at = 0; at < all.length; at += size) {
      byte[] piece = Arrays.copyOfRange(all, at, Math.min(all.length, at + size));
      found.addAll(statements.read(piece, piece.length));
    }
    return found;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 7, 4096})
  void a_prepared_statement_is_found_each_time_it_is_bound(int size) throws IOException {
    out.writeInt(8); // asks for encryption first
    out.writeInt(80877103);
    out.write(RelayTest.startup());
    message('P', "S_1", "COMMIT");
    message('B', "", "S_1");
    message('E', "");
    message('S');
    message('P', "", "SELECT " + "x".repeat(9000));
    message('B', "", "");
    message('B', "", "S_1");
    message('Q', "ROLLBACK");

    List<String> found = readInPiecesOf(size);

    assertThat(found).hasSize(4);
    assertThat(found.get(0)).isEqualTo("COMMIT");
    assertThat(found.get(1)).startsWith("SELECT xxx");
    assertThat(found.get(2)).isEqualTo("COMMIT");
    assertThat(found.get(3)).isEqualTo("ROLLBACK");
  }

  @Test
  void binding_an_unknown_statement_finds_nothing() throws IOException {
    out.write(RelayTest.startup());
    message('B', "", "S_7");

    assertThat(readInPiecesOf(4096)).isEmpty();
  }
}
