package carillon.api.tasks;

import carillon.model.TaskId;
import io.helidon.webserver.http.ServerResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The response to a batch: how many tasks were accepted, and their ids. It is written id by id,
 * because the ids of the largest batch are 4 MB of text.
 */
final class BatchAnswer {

  private static final int BUFFER = 32 << 10;
  private static final int ID_CHARS = 36;
  private static final byte[] BETWEEN = "\",\"".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] END = "\"]}".getBytes(StandardCharsets.US_ASCII);

  private final List<TaskId> ids;

  /**
   * @param ids at least one
   */
  BatchAnswer(List<TaskId> ids) {
    this.ids = ids;
  }

  private byte[] start() {
    return ("{\"accepted\":" + ids.size() + ",\"ids\":[\"").getBytes(StandardCharsets.US_ASCII);
  }

  private int length() {
    return start().length + ids.size() * ID_CHARS + (ids.size() - 1) * BETWEEN.length + END.length;
  }

  /** The whole response as text, to be stored for the idempotency key. */
  String text() {
    StringBuilder text = new StringBuilder(length());
    text.append(new String(start(), StandardCharsets.US_ASCII));
    for (int i = 0; i < ids.size(); i++) {
      text.append(i == 0 ? "" : "\",\"").append(ids.get(i));
    }
    return text.append("\"]}").toString();
  }

  void send(ServerResponse response) {
    response.contentLength(length());
    try (OutputStream out = response.outputStream()) {
      byte[] buffer = new byte[BUFFER];
      int size = put(buffer, 0, start());
      for (int i = 0; i < ids.size(); i++) {
        if (size + ID_CHARS + BETWEEN.length > buffer.length) {
          out.write(buffer, 0, size);
          size = 0;
        }
        size = i == 0 ? size : put(buffer, size, BETWEEN);
        size = put(buffer, size, ids.get(i).toString().getBytes(StandardCharsets.US_ASCII));
      }
      out.write(buffer, 0, size);
      out.write(END);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int put(byte[] buffer, int at, byte[] bytes) {
    System.arraycopy(bytes, 0, buffer, at, bytes.length);
    return at + bytes.length;
  }
}
