package carillon.chaos.cluster;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Finds in what a client sends to PostgreSQL the statements that it has carried out: those of
 * simple queries, and the prepared ones when they are bound.
 */
final class Statements {

  /** Of a message; statements begin with their names and COMMIT is short. */
  private static final int KEPT = 4096;

  private static final int HEADER = 5;
  private static final int SSL_REQUEST = 80877103;
  private static final int GSS_REQUEST = 80877104;

  private static final Pattern WRITE =
      Pattern.compile(
          "\\b(?:INSERT\\s+INTO|DELETE\\s+FROM|MERGE\\s+INTO)\\b|(?<!FOR )(?<!KEY )\\bUPDATE\\b");
  private static final Pattern BOUNDARY = Pattern.compile("\\s*(?:BEGIN|COMMIT|ROLLBACK)\\b.*");

  private final Map<String, String> prepared = new HashMap<>();
  private final byte[] kept = new byte[KEPT];
  private boolean started;
  private int seen; // bytes of this message, its header among them
  private int type;
  private int length; // that follow the type

  /** Whether it changes something, as far as its text says; a lock is no change. */
  static boolean isWrite(String statement) {
    return WRITE.matcher(statement).find();
  }

  /** Whether a transaction begins or ends with it. */
  static boolean isBoundary(String statement) {
    return BOUNDARY.matcher(statement).matches();
  }

  /** The statements that are complete with these bytes. */
  List<String> read(byte[] bytes, int n) {
    List<String> found = new ArrayList<>();
    for (int at = 0; at < n; ) {
      if (seen < HEADER) {
        header(bytes[at++]);
      } else {
        int take = Math.min(n - at, length + 1 - seen);
        int room = Math.min(take, KEPT - (seen - HEADER));
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
      case 0 -> started = !isRequest();
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

  /** Asks for encryption; the real beginning follows. */
  private boolean isRequest() {
    int code = 0;
    for (int i = 0; i < 4; i++) {
      code = (code << 8) | (kept[i] & 0xff);
    }
    return length == 8 && (code == SSL_REQUEST || code == GSS_REQUEST);
  }

  private int size() {
    return Math.min(KEPT, length + 1 - HEADER);
  }

  /** The text that starts there and ends with a zero. */
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
