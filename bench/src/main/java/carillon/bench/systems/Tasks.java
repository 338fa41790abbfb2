package carillon.bench.systems;

import java.nio.charset.StandardCharsets;
import java.util.function.IntFunction;

/** The JSON of tasks to create, all with the same payload of 300 bytes. */
public final class Tasks {

  private static final String PAYLOAD =
      "{\"order\":4711,\"customer\":\"c-0815\",\"note\":\"" + "x".repeat(300 - 48) + "\"}";

  private Tasks() {}

  public static String payload() {
    return PAYLOAD;
  }

  private static final int DIGITS = 9;
  private static final int NUMBER_AT = PAYLOAD.indexOf('x');

  /** The JSON of one task whose payload, of the same length, has a number. */
  public static String numbered(String type, int number) {
    String digits = Integer.toString(number);
    String payload =
        PAYLOAD.substring(0, NUMBER_AT)
            + "0".repeat(DIGITS - digits.length())
            + digits
            + PAYLOAD.substring(NUMBER_AT + DIGITS);
    return "{\"type\":\"" + type + "\",\"payload\":" + payload + "}";
  }

  /** The number in a payload. */
  public static int number(byte[] payload) {
    int number = 0;
    for (int i = NUMBER_AT; i < NUMBER_AT + DIGITS; i++) {
      number = number * 10 + payload[i] - '0';
    }
    return number;
  }

  /**
   * The JSON of one task.
   *
   * @param more additional members, each preceded by a comma
   */
  public static String task(String type, String more) {
    return "{\"type\":\"" + type + "\"" + more + ",\"payload\":" + PAYLOAD + "}";
  }

  public static byte[] lines(int tasks, IntFunction<String> task) {
    StringBuilder lines = new StringBuilder(tasks * 400);
    for (int i = 0; i < tasks; i++) {
      lines.append(task.apply(i)).append('\n');
    }
    return lines.toString().getBytes(StandardCharsets.UTF_8);
  }
}
