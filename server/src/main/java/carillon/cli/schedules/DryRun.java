package carillon.cli.schedules;

import carillon.cli.CommandFailed;
import carillon.client.Carillon;
import carillon.client.CarillonException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Asks the server whether it would accept each schedule, without saving any.
 *
 * <p>A PUT for version 0 is validated like any other and then not saved, because no schedule has
 * that version.
 */
final class DryRun {

  private static final int NO_VERSION = 0;

  private final Carillon carillon;

  DryRun(Carillon carillon) {
    this.carillon = carillon;
  }

  /** Throws if any would be rejected, with the first error and the names of the others. */
  void check(List<Step> steps) {
    List<CommandFailed> rejected = new ArrayList<>();
    List<String> names = new ArrayList<>();
    for (Step step : steps) {
      ScheduleFile.Wanted wanted = step.wanted();
      CommandFailed rejection =
          wanted == null || step.kind() == Step.Kind.UNCHANGED ? null : rejection(wanted);
      if (rejection != null) {
        rejected.add(rejection);
        names.add(step.name());
      }
    }
    if (names.size() == 1) {
      throw rejected.getFirst();
    }
    if (!names.isEmpty()) {
      throw new CommandFailed(
          rejected.getFirst().getMessage()
              + "; also rejected: "
              + names.stream().skip(1).limit(10).collect(Collectors.joining(", "))
              + (names.size() > 11 ? " and " + (names.size() - 11) + " more" : ""));
    }
  }

  private @Nullable CommandFailed rejection(ScheduleFile.Wanted wanted) {
    try {
      carillon.put(Step.path(wanted.name()), wanted.definition(), NO_VERSION);
    } catch (CarillonException e) {
      return switch (e.status()) {
        case 404, 412 -> null;
        case 400, 422 -> fileError(wanted, e);
        default -> throw e;
      };
    }
    throw new CommandFailed("the server ignored If-Match and saved " + wanted.name());
  }

  /** Translates the server's JSON pointers to lines of the file. */
  private static CommandFailed fileError(ScheduleFile.Wanted wanted, CarillonException e) {
    if (e.errors().isEmpty()) {
      return wanted.wrong("name", e.detail());
    }
    String pointer = e.errors().getFirst().pointer();
    String field = pointer.startsWith("/") ? pointer.substring(1).split("/", 2)[0] : "";
    return wanted.wrong(
        field,
        e.errors().stream()
            .map(error -> error.pointer() + " " + error.message())
            .collect(Collectors.joining("; ")));
  }
}
