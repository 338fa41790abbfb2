package carillon.cli.schedules;

import carillon.cli.ApiCommand;
import carillon.client.Carillon;
import carillon.client.CarillonException;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The change of one schedule when a file is applied.
 *
 * @param wanted the schedule in the file; null if it is removed
 * @param version of the existing schedule; 0 if there was none
 * @param differences the changed fields; for an unchanged schedule, the fields that only the server
 *     can compare because it hides their values
 */
record Step(
    String name,
    Kind kind,
    ScheduleFile.@Nullable Wanted wanted,
    int version,
    List<ScheduleDiff.Difference> differences) {

  enum Kind {
    CREATED,
    CHANGED,
    UNCHANGED,
    REMOVED
  }

  static Step creation(ScheduleFile.Wanted wanted) {
    return new Step(wanted.name(), Kind.CREATED, wanted, 0, List.of());
  }

  static Step between(ScheduleFile.Wanted wanted, JsonNode present) {
    List<ScheduleDiff.Difference> differences = ScheduleDiff.between(wanted.definition(), present);
    List<ScheduleDiff.Difference> unknown = ScheduleDiff.unknown(wanted.definition(), present);
    return new Step(
        wanted.name(),
        differences.isEmpty() ? Kind.UNCHANGED : Kind.CHANGED,
        wanted,
        present.path("version").asInt(0),
        differences.isEmpty() ? unknown : differences);
  }

  static Step removal(JsonNode listed) {
    return new Step(
        listed.path("name").asString(),
        Kind.REMOVED,
        null,
        listed.path("version").asInt(0),
        List.of());
  }

  static String path(String name) {
    return ScheduleCommands.SCHEDULES + "/" + ApiCommand.encoded(name);
  }

  /** Applies the step and returns the actual change, which the server decides. */
  Step apply(Carillon carillon) {
    return switch (kind) {
      case UNCHANGED -> differences.isEmpty() ? this : saved(carillon);
      case REMOVED -> remove(carillon);
      case CREATED -> {
        carillon.put(path(name), definition());
        yield this;
      }
      case CHANGED -> saved(carillon);
    };
  }

  private Step saved(Carillon carillon) {
    JsonNode saved = carillon.put(path(name), definition(), version);
    boolean isSame = saved.path("version").asInt(-1) == version;
    return isSame
        ? new Step(name, Kind.UNCHANGED, wanted, version, List.of())
        : new Step(name, Kind.CHANGED, wanted, version, differences);
  }

  private Step remove(Carillon carillon) {
    try {
      carillon.delete(path(name), version);
    } catch (CarillonException e) {
      if (e.status() != 404) { // already deleted
        throw e;
      }
    }
    return this;
  }

  ObjectNode definition() {
    if (wanted == null) {
      throw new IllegalStateException(name + " is removed");
    }
    return wanted.definition();
  }

  /** The steps with their counts. */
  static ObjectNode json(boolean dryRun, List<Step> steps) {
    ObjectNode result = ApiCommand.JSON.createObjectNode().put("dryRun", dryRun);
    for (Kind kind : Kind.values()) {
      result.put(label(kind), steps.stream().filter(step -> step.kind == kind).count());
    }
    ArrayNode all = result.putArray("schedules");
    steps.forEach(step -> step.addTo(all.addObject()));
    return result;
  }

  private void addTo(ObjectNode node) {
    node.put("name", name).put("change", label(kind));
    if (kind == Kind.UNCHANGED && !differences.isEmpty()) {
      ArrayNode fields = node.putArray("notCompared");
      differences.forEach(difference -> fields.add(difference.path()));
    }
    if (kind == Kind.CHANGED) {
      ArrayNode fields = node.putArray("fields");
      for (ScheduleDiff.Difference difference : differences) {
        ObjectNode field = fields.addObject().put("field", difference.path());
        if (difference.isHidden()) {
          field.put("hidden", true);
        } else {
          field.set("from", difference.from());
          field.set("to", difference.to());
        }
      }
    }
  }

  static String label(Kind kind) {
    return kind.name().toLowerCase(Locale.ROOT);
  }
}
