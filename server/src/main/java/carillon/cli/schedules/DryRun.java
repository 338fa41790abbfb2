package carillon.cli.schedules;

import carillon.cli.CommandFailed;
import carillon.client.Carillon;
import carillon.client.CarillonException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Asks the server whether it would take each schedule, without giving it one.
 *
 * <p>A schedule that is put if it still has version 0 is checked as every other, and then not
 * saved, because none has that version.
 */
final class DryRun {

  private static final int NEVER = 0;

  private final Carillon carillon;

  DryRun(Carillon carillon) {
    this.carillon = carillon;
  }

  /** Throws if any would be refused, with the first mistake and the names of the others. */
  void check(List<Step> steps) {
    List<CommandFailed> refused = new ArrayList<>();
    List<String> names = new ArrayList<>();
    for (Step step : steps) {
      ScheduleFile.Wanted wanted = step.wanted();
      CommandFailed refusal =
          wanted == null || step.kind() == Step.Kind.UNCHANGED ? null : refusal(wanted);
      if (refusal != null) {
        refused.add(refusal);
        names.add(step.name());
      }
    }
    if (names.size() == 1) {
      throw refused.getFirst();
    }
    if (!names.isEmpty()) {
      throw new CommandFailed(
          refused.getFirst().getMessage()
              + "; and refused too: "
              + names.stream().skip(1).limit(10).collect(Collectors.joining(", "))
              + (names.size() > 11 ? " and " + (names.size() - 11) + " more" : ""));
    }
  }

  private @Nullable CommandFailed refusal(ScheduleFile.Wanted wanted) {
    try {
      carillon.put(Step.path(wanted.name()), wanted.definition(), NEVER);
    } catch (CarillonException e) {
      return switch (e.status()) {
        case 404, 412 -> null;
        case 400, 422 -> mistake(wanted, e);
        default -> throw e;
      };
    }
    throw new CommandFailed("the server ignores If-Match; " + wanted.name() + " was saved");
  }

  /** The server points into what it was sent; a person looks at the file. */
  private static CommandFailed mistake(ScheduleFile.Wanted wanted, CarillonException e) {
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
