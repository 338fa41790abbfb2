package carillon.bench.peers;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Takes commands from standard input, a line of JSON each, and answers each with a line. */
final class Protocol {

  static final Map<String, Boolean> OK = Map.of("ok", true);

  private static final JsonMapper JSON = JsonMapper.builder().build();

  private final PrintStream out = System.out;

  /** From now on whatever else is printed goes to standard error: it is no answer. */
  Protocol() {
    System.setOut(System.err);
  }

  /** Carries out a command and says what came of it. */
  interface Handler {
    Map<String, ?> handle(JsonNode command) throws Exception;
  }

  /** Until told to quit. */
  void serve(String version, String settings, Handler handler) throws IOException {
    answer(Map.of("ready", true, "version", version, "settings", settings));
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode command = JSON.readTree(line);
      if (command.path("do").asString().equals("quit")) {
        return;
      }
      try {
        answer(handler.handle(command));
      } catch (Exception e) {
        e.printStackTrace();
        answer(Map.of("error", e.toString()));
      }
    }
  }

  private void answer(Map<String, ?> answer) {
    out.println(JSON.writeValueAsString(answer));
    out.flush();
  }
}
