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
