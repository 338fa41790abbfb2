package carillon.cli.schedules;

import carillon.cli.ApiCommand;
import carillon.cli.CommandFailed;
import carillon.cli.Console;
import carillon.client.Carillon;
import carillon.client.CarillonException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import tools.jackson.databind.JsonNode;

/** {@code carillon schedule apply}: applies schedules from YAML files. */
@Command(
    name = "apply",
    description = {
      "Apply schedules from a YAML file.",
      "",
      "The file is \"schedules:\" and a list; each has a name and the fields of the API. The file"
          + " is checked before anything is changed. Schedules that are not in the file stay,"
          + " unless --prune is given."
    })
final class ApplyCommand extends ApiCommand {

  private static final int PAGE = 1000;
  private static final int MAX_NAMES = 10;

  @Option(
      names = {"-f", "--file"},
      paramLabel = "FILE|-",
      required = true,
      description = "file, or - for standard input; repeatable")
  private List<String> files = new ArrayList<>();

  @Option(names = "--prune", description = "delete the tenant's schedules that are not in the file")
  private boolean prune;

  @Option(
      names = "--allow-empty",
      description = "with --prune: allow an empty file to delete all schedules")
  private boolean allowEmpty;

  @Option(names = "--dry-run", description = "show what would change")
  private boolean dryRun;

  @Option(names = "--yes", description = "with --prune: do not ask before deleting")
  private boolean yes;

  ApplyCommand(Console console) {
    super(console);
  }

  @Override
  protected JsonNode request(Carillon carillon) {
    Map<String, ScheduleFile.Wanted> wanted = read();
    if (prune && wanted.isEmpty() && !allowEmpty) {
      throw new CommandFailed(
          String.join(", ", files)
              + ": has no schedules, so --prune would delete all of them; add --allow-empty to"
              + " allow it");
    }
    List<Step> plan = new ArrayList<>();
    wanted.values().forEach(each -> plan.add(compare(carillon, each)));
    new DryRun(carillon).check(plan);
    if (prune) {
      listed(carillon).stream()
          .filter(schedule -> !wanted.containsKey(schedule.path("name").asString()))
          .map(Step::removal)
          .forEach(plan::add);
    }
    long removals = plan.stream().filter(step -> step.kind() == Step.Kind.REMOVED).count();
    if (removals > 0
        && !dryRun
        && !yes
        && !console.confirms("Delete " + removals + " schedules that are not in the file?")) {
      throw new CommandFailed("cancelled; nothing was changed");
    }
    return Step.json(dryRun, dryRun ? plan : apply(carillon, plan));
  }

  @Override
  public void show(JsonNode response) {
    new StepLines(console).show(response);
  }

  private Map<String, ScheduleFile.Wanted> read() {
    Map<String, ScheduleFile.Wanted> all = new LinkedHashMap<>();
    for (String file : files) {
      String label = file.equals("-") ? "standard input" : file;
      for (ScheduleFile.Wanted each : ScheduleFile.read(label, text(file, label))) {
        ScheduleFile.Wanted before = all.putIfAbsent(each.name(), each);
        if (before != null) {
          throw each.wrong(
              "name", "is a duplicate of line " + before.line() + " of " + before.file());
        }
      }
    }
    return all;
  }

  private String text(String file, String label) {
    try (InputStream in =
        file.equals("-") ? console.in() : Files.newInputStream(console.directory().resolve(file))) {
      byte[] bytes = in.readNBytes(ScheduleFile.MAX_BYTES + 1);
      if (bytes.length > ScheduleFile.MAX_BYTES) {
        throw new CommandFailed(
            label + ": has more than " + ScheduleFile.MAX_BYTES + " bytes; split it");
      }
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new CommandFailed(label + ": is not UTF-8 text");
    } catch (IOException e) {
      throw new CommandFailed(label + ": cannot read the file: " + CommandFailed.reason(e));
    }
  }

  private static Step compare(Carillon carillon, ScheduleFile.Wanted wanted) {
    try {
      return Step.between(wanted, carillon.get(Step.path(wanted.name())));
    } catch (CarillonException e) {
      return switch (e.status()) {
        case 404 -> Step.creation(wanted);
        case 400, 422 -> throw wanted.wrong("name", e.detail());
        default -> throw e;
      };
    }
  }

  private static List<JsonNode> listed(Carillon carillon) {
    List<JsonNode> schedules = new ArrayList<>();
    String cursor = "";
    do {
      JsonNode page =
          carillon.get(
              ScheduleCommands.SCHEDULES
                  + "?limit="
                  + PAGE
                  + (cursor.isEmpty() ? "" : "&cursor=" + encoded(cursor)));
      page.path("items").forEach(schedules::add);
      cursor = page.path("nextCursor").asString("");
    } while (!cursor.isEmpty());
    return schedules;
  }

  /**
   * Returns the applied steps. A failure names the steps that were applied and those that were not.
   */
  private static List<Step> apply(Carillon carillon, List<Step> plan) {
    List<Step> done = new ArrayList<>();
    for (Step step : plan) {
      try {
        done.add(step.apply(carillon));
      } catch (CarillonException e) {
        List<Step> left = plan.subList(done.size(), plan.size());
        throw new CommandFailed(
            step.name()
                + ": "
                + e.getMessage()
                + "; done: "
                + changes(done)
                + "; not done: "
                + changes(left)
                + "; run it again to continue");
      }
    }
    return done;
  }

  private static String changes(List<Step> steps) {
    List<String> names =
        steps.stream().filter(step -> step.kind() != Step.Kind.UNCHANGED).map(Step::name).toList();
    String shown = names.stream().limit(MAX_NAMES).collect(Collectors.joining(", "));
    int more = names.size() - MAX_NAMES;
    return names.isEmpty() ? "nothing" : more > 0 ? shown + " and " + more + " more" : shown;
  }
}
