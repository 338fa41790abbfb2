package carillon.cli;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A terminal that shows one page after the other until the user presses q. */
public final class Screen implements AutoCloseable {

  private static final String CLEAR = "\033[2J";
  private static final String TO_START = "\033[H";
  private static final String END_OF_LINE = "\033[K\n";
  private static final String REST = "\033[J";
  private static final Duration STEP = Duration.ofMillis(50);
  private static final int COLUMNS = 80;
  private static final int LINES = 24;

  private final Console console;
  private final @Nullable String savedSettings;
  private final Thread shutdownHook = new Thread(this::restore);

  private Screen(Console console, @Nullable String savedSettings) {
    this.console = console;
    this.savedSettings = savedSettings;
  }

  /** Clears the terminal and turns off line buffering of its keyboard, if it can. */
  public static Screen open(Console console) {
    String savedSettings = stty(console, "-g").orElse(null);
    Screen screen = new Screen(console, savedSettings);
    if (savedSettings != null) {
      Runtime.getRuntime().addShutdownHook(screen.shutdownHook); // also on Ctrl-C
      stty(console, "-icanon", "-echo", "min", "1");
    }
    console.out().print(CLEAR);
    return screen;
  }

  /** The size of a terminal. */
  public record Size(int lines, int columns) {}

  /** Reads the current size, because windows are resized. */
  public static Size size(Console console) {
    String[] size = stty(console, "size").orElse("").split(" ", -1);
    return size.length == 2
        ? new Size(number(size[0], LINES), number(size[1], COLUMNS))
        : new Size(
            number(console.environment().getOrDefault("LINES", ""), LINES),
            number(console.environment().getOrDefault("COLUMNS", ""), COLUMNS));
  }

  private static int number(String text, int fallback) {
    return text.matches("[1-9][0-9]{0,3}") ? Integer.parseInt(text) : fallback;
  }

  /** Replaces the page without clearing it first, so that it does not flicker. */
  public void show(List<String> lines) {
    StringBuilder page = new StringBuilder(TO_START);
    lines.forEach(line -> page.append(line).append(END_OF_LINE));
    console.out().print(page.append(REST));
    console.out().flush();
  }

  /** Waits, and returns true as soon as the user presses q. */
  public boolean isQuitWithin(Duration pause) throws InterruptedException {
    long end = System.nanoTime() + pause.toNanos();
    while (true) {
      if (isQuitPressed()) {
        return true;
      }
      long left = end - System.nanoTime();
      if (left <= 0) {
        return false;
      }
      Thread.sleep(Duration.ofNanos(Math.min(left, STEP.toNanos())));
    }
  }

  private boolean isQuitPressed() {
    try {
      while (console.in().available() > 0) {
        int key = console.in().read();
        if (key == 'q' || key == 'Q') {
          return true;
        }
      }
    } catch (IOException _) {
      // no keyboard: only Ctrl-C remains
    }
    return false;
  }

  @Override
  public void close() {
    if (savedSettings != null && Runtime.getRuntime().removeShutdownHook(shutdownHook)) {
      restore();
    }
  }

  private void restore() {
    if (savedSettings != null) {
      stty(console, savedSettings);
    }
  }

  /** Runs stty, only for the terminal of this process. */
  private static Optional<String> stty(Console console, String... arguments) {
    if (!console.in().equals(System.in)) {
      return Optional.empty();
    }
    List<String> command = new ArrayList<>(List.of("stty"));
    command.addAll(List.of(arguments));
    try {
      Process process =
          new ProcessBuilder(command)
              .redirectInput(ProcessBuilder.Redirect.INHERIT)
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      String output =
          new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      return process.waitFor(1, TimeUnit.SECONDS) && process.exitValue() == 0
          ? Optional.of(output)
          : Optional.empty();
    } catch (IOException _) {
      return Optional.empty(); // no stty on this system
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }
}
