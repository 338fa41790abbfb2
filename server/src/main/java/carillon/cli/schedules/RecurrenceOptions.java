package carillon.cli.schedules;

import carillon.cli.ApiCommand;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import tools.jackson.databind.node.ObjectNode;

/** The options that say in whose time a schedule fires, and from when to when. */
final class RecurrenceOptions {

  @Option(
      names = "--timezone",
      paramLabel = "ZONE",
      description = "such as Europe/Berlin. Default UTC")
  private @Nullable String timezone;

  @Option(
      names = "--dst-gap",
      paramLabel = "shift|skip",
      description =
          "a local time that does not exist fires when the gap ends, or not. Default shift")
  private @Nullable String dstGap;

  @Option(
      names = "--dst-overlap",
      paramLabel = "first|last|both",
      description = "which of a local time that happens twice. Default first")
  private @Nullable String dstOverlap;

  @Option(names = "--start-at", paramLabel = "TIME", description = "nothing fires before")
  private @Nullable String startAt;

  @Option(names = "--end-at", paramLabel = "TIME", description = "nothing fires after")
  private @Nullable String endAt;

  void addTo(ObjectNode body) {
    ApiCommand.set(body, "timezone", timezone);
    ObjectNode dst = ApiCommand.JSON.createObjectNode();
    ApiCommand.set(dst, "gap", dstGap);
    ApiCommand.set(dst, "overlap", dstOverlap);
    ApiCommand.set(body, "dst", dst.isEmpty() ? null : dst);
    ApiCommand.set(body, "startAt", startAt);
    ApiCommand.set(body, "endAt", endAt);
  }
}
