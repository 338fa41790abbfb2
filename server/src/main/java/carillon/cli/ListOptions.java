package carillon.cli;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of every command that lists something. */
public final class ListOptions {

  @Option(
      names = "--limit",
      paramLabel = "N",
      description = "at most this many, 1 to 1000. Default 100")
  public @Nullable Integer limit;

  @Option(
      names = "--cursor",
      paramLabel = "CURSOR",
      description = "go on where the last list ended")
  public @Nullable String cursor;
}
