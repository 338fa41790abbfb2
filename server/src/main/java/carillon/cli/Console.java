package carillon.cli;

import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Scanner;

/**
 * The streams, environment and directory of a command. A value, so that tests can run commands
 * in-process.
 *
 * @param directory the working directory
 * @param isTerminal whether input and output are a terminal
 */
public record Console(
    PrintStream out,
    PrintStream err,
    InputStream in,
    Map<String, String> environment,
    Path directory,
    boolean isTerminal) {

  /** ANSI colours. */
  public enum Colour {
    BOLD(1),
    FAINT(2),
    RED(31),
    GREEN(32),
    YELLOW(33),
    CYAN(36);

    private final int number;

    Colour(int number) {
      this.number = number;
    }
  }

  /** The console of this process. */
  @SuppressWarnings("SystemConsoleNull") // JDK 22 to 24 never returned null; 25 does again
  public static Console system() {
    java.io.Console terminal = System.console();
    return new Console(
        new PrintStream(System.out, true, StandardCharsets.UTF_8),
        new PrintStream(System.err, true, StandardCharsets.UTF_8),
        System.in,
        System.getenv(),
        Path.of("").toAbsolutePath(),
        terminal != null && terminal.isTerminal());
  }

  /** Asks for confirmation on a terminal; returns true elsewhere. */
  public boolean confirms(String question) {
    if (!isTerminal) {
      return true;
    }
    err.print(question + " [y/N] ");
    err.flush();
    Scanner scanner = new Scanner(in, StandardCharsets.UTF_8);
    String answer = scanner.hasNextLine() ? scanner.nextLine().strip() : "";
    return answer.equalsIgnoreCase("y") || answer.equalsIgnoreCase("yes");
  }

  /** See no-color.org. */
  public boolean hasColours() {
    return isAnsiTerminal() && environment.getOrDefault("NO_COLOR", "").isEmpty();
  }

  /** Whether this is a terminal that understands control sequences. */
  public boolean isAnsiTerminal() {
    return isTerminal && !environment.getOrDefault("TERM", "").equals("dumb");
  }

  public String bold(String text) {
    return coloured(Colour.BOLD, text);
  }

  public String coloured(Colour colour, String text) {
    return hasColours() ? "\033[" + colour.number + "m" + text + "\033[0m" : text;
  }
}
