package carillon.chaos.cluster;

import java.io.PrintStream;
import java.util.Locale;

/**
 * Shows the progress of a run: one updated line on a terminal, otherwise a line every few seconds.
 */
public final class Progress {

  private static final int WIDTH = 30;
  private static final long LINE_NANOS = 5_000_000_000L;

  private final PrintStream out;
  private final boolean isTerminal;
  private final long expectedSeconds;
  private final long began = System.nanoTime();
  private String title = "";
  private String step = "";
  private long lastLine;

  /**
   * @param expectedSeconds expected duration of all parts together, for the bar
   */
  public Progress(PrintStream out, boolean isTerminal, long expectedSeconds) {
    this.out = out;
    this.isTerminal = isTerminal;
    this.expectedSeconds = expectedSeconds;
    this.lastLine = began;
  }

  public synchronized void title(String text) {
    title = text;
    step = "";
  }

  /** Shows that a phase has started. */
  public synchronized void step(String text) {
    step = text;
    if (!isTerminal) {
      line("");
    }
  }

  /** Shows how much has happened so far. */
  public synchronized void at(long acknowledged, long received) {
    String text =
        String.format(Locale.ROOT, "%,d acknowledged, %,d received", acknowledged, received);
    if (isTerminal) {
      out.printf("\r\033[K%s %s: %s  %s", bar(seconds(), expectedSeconds), title, step, text);
      out.flush();
    } else if (System.nanoTime() - lastLine > LINE_NANOS) {
      line("  " + text);
    }
  }

  private void line(String text) {
    lastLine = System.nanoTime();
    out.printf("%s  %s: %s%s%n", stamp(), title, step, text);
    out.flush();
  }

  static String bar(long done, long all) {
    int full = all == 0 ? WIDTH : (int) (WIDTH * Math.clamp(done, 0, all) / all);
    return "[" + "#".repeat(full) + " ".repeat(WIDTH - full) + "]";
  }

  public synchronized void done(String text) {
    out.printf("%s%s  %s: %s%n", isTerminal ? "\r\033[K" : "", stamp(), title, text);
    out.flush();
  }

  private long seconds() {
    return (System.nanoTime() - began) / 1_000_000_000L;
  }

  private String stamp() {
    return String.format(Locale.ROOT, "%4d s", seconds());
  }
}
