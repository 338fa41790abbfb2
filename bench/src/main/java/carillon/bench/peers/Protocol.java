package carillon.bench.peers;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Reads commands from standard input, one line of JSON each, and answers each with one line. */
final class Protocol {

  static final Map<String, Boolean> OK = Map.of("ok", true);

  private static final JsonMapper JSON = JsonMapper.builder().build();

  private final PrintStream out = System.out;

  /** Redirects {@code System.out} to standard error, so that only answers go to standard output. */
  Protocol() {
    System.setOut(System.err);
  }

  /** Executes a command and returns the answer. */
  interface Handler {
    Map<String, ?> handle(JsonNode command) throws Exception;
  }

  /** Serves commands until {@code quit} or the end of input. */
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
