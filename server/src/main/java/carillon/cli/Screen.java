package carillon.cli;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A terminal on which one page replaces the other until somebody presses q. */
public final class Screen implements AutoCloseable {

  private static final String CLEAR = "\033[2J";
  private static final String TO_START = "\033[H";
  private static final String END_OF_LINE = "\033[K\n";
  private static final String REST = "\033[J";
  private static final Duration STEP = Duration.ofMillis(50);
  private static final int COLUMNS = 80;
  private static final int LINES = 24;

  private final Console console;
  private final @Nullable String before;
  private final Thread leaving = new Thread(this::restore);

  private Screen(Console console, @Nullable String before) {
    this.console = console;
    this.before = before;
  }

  /** Keys are read at once from here on, where the terminal can be told so. */
  public static Screen open(Console console) {
    String before = stty(console, "-g").orElse(null);
    Screen screen = new Screen(console, before);
    if (before != null) {
      Runtime.getRuntime().addShutdownHook(screen.leaving); // also on Ctrl-C
      stty(console, "-icanon", "-echo", "min", "1");
    }
    console.out().print(CLEAR);
    return screen;
  }

  /** How much fits. */
  public record Size(int lines, int columns) {}

  /** Asked again each time: people drag windows. */
  public static Size size(Console console) {
    String[] told = stty(console, "size").orElse("").split(" ", -1);
    return told.length == 2
        ? new Size(number(told[0], LINES), number(told[1], COLUMNS))
        : new Size(
            number(console.environment().getOrDefault("LINES", ""), LINES),
            number(console.environment().getOrDefault("COLUMNS", ""), COLUMNS));
  }

  private static int number(String text, int other) {
    return text.matches("[1-9][0-9]{0,3}") ? Integer.parseInt(text) : other;
  }

  /** In place of what was there; lines that are already in place do not flicker. */
  public void show(List<String> lines) {
    StringBuilder page = new StringBuilder(TO_START);
    lines.forEach(line -> page.append(line).append(END_OF_LINE));
    console.out().print(page.append(REST));
    console.out().flush();
  }

  /** Waits, and says whether somebody wants to leave meanwhile. */
  public boolean isLeft(Duration pause) throws InterruptedException {
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
      // no keyboard: Ctrl-C is left
    }
    return false;
  }

  @Override
  public void close() {
    if (before != null && Runtime.getRuntime().removeShutdownHook(leaving)) {
      restore();
    }
  }

  private void restore() {
    if (before != null) {
      stty(console, before);
    }
  }

  /** Only for the terminal that this process was started on. */
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
      String told =
          new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      return process.waitFor(1, TimeUnit.SECONDS) && process.exitValue() == 0
          ? Optional.of(told)
          : Optional.empty();
    } catch (IOException _) {
      return Optional.empty(); // not on this system
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }
}
