package carillon.bench.scenarios;

import java.io.PrintStream;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Shows the progress of the run: as a bar on a terminal, otherwise as one line per step. */
public final class Progress {

  private static final int WIDTH = 30;

  private final PrintStream out;
  private final boolean isTerminal;
  private final long began = System.nanoTime();
  private @Nullable String title;

  public Progress(PrintStream out, boolean isTerminal) {
    this.out = out;
    this.isTerminal = isTerminal;
  }

  public void title(String text) {
    title = text;
  }

  /** Shows that a step, such as loading, has begun. */
  public void step(String text) {
    if (isTerminal) {
      out.printf("\r\033[K%s  %s ...", title, text);
    } else {
      out.printf("%s  %s ...%n", stamp(), title + ": " + text);
    }
    out.flush();
  }

  public void at(long done, long all) {
    if (isTerminal) {
      out.printf("\r\033[K%s  %s %,d of %,d", title, bar(done, all), done, all);
      out.flush();
    }
  }

  static String bar(long done, long all) {
    int full = all == 0 ? WIDTH : (int) (WIDTH * Math.clamp(done, 0, all) / all);
    return "[" + "#".repeat(full) + " ".repeat(WIDTH - full) + "]";
  }

  public void done(String text) {
    out.printf("%s%s  %s%n", isTerminal ? "\r\033[K" : "", stamp(), title + ": " + text);
    out.flush();
  }

  private String stamp() {
    return String.format(Locale.ROOT, "%5.0f s", (System.nanoTime() - began) / 1e9);
  }
}
