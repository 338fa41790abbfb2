package carillon.app;

import carillon.cli.Console;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** Runs commands in-process and captures their output. */
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

  /** Runs a command and returns its exit status. */
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

  /** The standard output since the last call. */
  String out() {
    return take(out);
  }

  /** The standard error since the last call. */
  String err() {
    return take(err);
  }

  private static String take(ByteArrayOutputStream stream) {
    String text = stream.toString(StandardCharsets.UTF_8);
    stream.reset();
    return text;
  }
}
