package carillon.cli;

import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Scanner;

/**
 * Where a command runs: its streams, variables and directory. A value, so that tests run commands
 * in their own process.
 *
 * @param directory the working directory, which relative paths start from
 * @param isTerminal true if a person is looking
 */
public record Console(
    PrintStream out,
    PrintStream err,
    InputStream in,
    Map<String, String> environment,
    Path directory,
    boolean isTerminal) {

  /** The colours we use, as ANSI numbers. */
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

  /** The one this process was started with. */
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

  /** Asks before something is lost. Scripts are not asked: there is nobody to answer. */
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
    return obeys() && environment.getOrDefault("NO_COLOR", "").isEmpty();
  }

  /** Whether it is a terminal that can be told where and how to write. */
  public boolean obeys() {
    return isTerminal && !environment.getOrDefault("TERM", "").equals("dumb");
  }

  /** Bold where that can be shown. */
  public String bold(String text) {
    return coloured(Colour.BOLD, text);
  }

  public String coloured(Colour colour, String text) {
    return hasColours() ? "\033[" + colour.number + "m" + text + "\033[0m" : text;
  }
}
