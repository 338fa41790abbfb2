package carillon.chaos.cluster;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Finds the executed statements in the bytes that a client sends to PostgreSQL: simple queries, and
 * prepared statements when they are bound.
 */
final class Statements {

  /**
   * How many bytes of a message are kept. Statements start with their names, and COMMIT is short.
   */
  private static final int MAX_KEPT = 4096;

  private static final int HEADER = 5;
  private static final int SSL_REQUEST = 80877103;
  private static final int GSS_REQUEST = 80877104;

  private static final Pattern WRITE =
      Pattern.compile(
          "\\b(?:INSERT\\s+INTO|DELETE\\s+FROM|MERGE\\s+INTO)\\b|(?<!FOR )(?<!KEY )\\bUPDATE\\b");
  private static final Pattern BOUNDARY = Pattern.compile("\\s*(?:BEGIN|COMMIT|ROLLBACK)\\b.*");

  private final Map<String, String> prepared = new HashMap<>();
  private final byte[] kept = new byte[MAX_KEPT];
  private boolean started;
  private int seen; // bytes of this message, including its header
  private int type;
  private int length; // bytes after the type

  /** Whether the statement changes rows, judging by its text. Locking them is not a change. */
  static boolean isWrite(String statement) {
    return WRITE.matcher(statement).find();
  }

  /** Whether it starts or ends a transaction. */
  static boolean isBoundary(String statement) {
    return BOUNDARY.matcher(statement).matches();
  }

  /** Returns the statements that these bytes complete. */
  List<String> read(byte[] bytes, int n) {
    List<String> found = new ArrayList<>();
    for (int at = 0; at < n; ) {
      if (seen < HEADER) {
        header(bytes[at++]);
      } else {
        int take = Math.min(n - at, length + 1 - seen);
        int room = Math.min(take, MAX_KEPT - (seen - HEADER));
        if (room > 0) {
          System.arraycopy(bytes, at, kept, seen - HEADER, room);
        }
        at += take;
        seen += take;
      }
      if (seen >= HEADER && seen == length + 1) {
        finish(found);
        seen = 0;
        length = 0;
      }
    }
    return found;
  }

  /** The first message of a connection has no type. */
  private void header(byte next) {
    if (seen == 0 && !started) {
      type = 0;
      seen = 1;
    }
    if (seen == 0) {
      type = next;
    } else {
      length = (length << 8) | (next & 0xff);
    }
    seen++;
  }

  private void finish(List<String> found) {
    switch (type) {
      case 0 -> started = !isEncryptionRequest();
      case 'Q' -> found.add(text(0));
      case 'P' -> prepared.put(text(0), text(after(0)));
      case 'B' -> {
        String statement = prepared.get(text(after(0)));
        if (statement != null) {
          found.add(statement);
        }
      }
      default -> {}
    }
  }

  /** A request for encryption, which precedes the startup message. */
  private boolean isEncryptionRequest() {
    int code = 0;
    for (int i = 0; i < 4; i++) {
      code = (code << 8) | (kept[i] & 0xff);
    }
    return length == 8 && (code == SSL_REQUEST || code == GSS_REQUEST);
  }

  private int size() {
    return Math.min(MAX_KEPT, length + 1 - HEADER);
  }

  /** The zero-terminated text at this offset. */
  private String text(int from) {
    int end = from;
    while (end < size() && kept[end] != 0) {
      end++;
    }
    return new String(kept, from, Math.max(0, end - from), StandardCharsets.UTF_8);
  }

  private int after(int from) {
    int end = from;
    while (end < size() && kept[end] != 0) {
      end++;
    }
    return Math.min(end + 1, size());
  }
}
