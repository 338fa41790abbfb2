package carillon.app;

import carillon.cli.Console;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** Where a test types commands: what they print is kept, and taken by who looks at it. */
final class Terminal {

  final Map<String, String> environment = new HashMap<>();
  boolean isTerminal;
  String input = "";

  private final Path directory;
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  Terminal(Path directory, String url, String key) {
    this.directory = directory;
    environment.put("CARILLON_URL", url);
    environment.put("CARILLON_KEY", key);
  }

  /** Runs a command in this process, and answers its status. */
  int run(String... args) {
    Console console =
        new Console(
            new PrintStream(out, true, StandardCharsets.UTF_8),
            new PrintStream(err, true, StandardCharsets.UTF_8),
            new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)),
            environment,
            directory,
            isTerminal);
    return Main.run(args, console);
  }

  /** What was printed since the last time. */
  String out() {
    return taken(out);
  }

  /** The same of what went wrong. */
  String err() {
    return taken(err);
  }

  private static String taken(ByteArrayOutputStream stream) {
    String text = stream.toString(StandardCharsets.UTF_8);
    stream.reset();
    return text;
  }
}
