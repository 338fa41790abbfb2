package carillon.bench.figures;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What a run measured: the figures of each system in each scenario, in the order measured, and what
 * is to be said about them.
 */
public final class Results {

  /** Cores that everything else may use before a row is only a lower bound. */
  private static final double DISTURBED = 0.1;

  private final Map<String, Map<String, Figures>> all = new LinkedHashMap<>();
  private final Map<Row, String> remarks = new LinkedHashMap<>();
  private final Map<String, String> settings = new LinkedHashMap<>();
  private final Map<String, String> missing = new LinkedHashMap<>();
  private boolean hasFailed;

  /** Names one scenario of one system. */
  public record Row(String scenario, String system) {}

  public void add(String scenario, String system, Figures figures) {
    all.computeIfAbsent(scenario, _ -> new LinkedHashMap<>()).put(system, figures);
    if (figures.note() != null) {
      remarks.put(new Row(scenario, system), figures.note());
    }
  }

  /** Something that was to be measured could not be. */
  public void failed(String scenario, String system, String why) {
    hasFailed = true;
    all.computeIfAbsent(scenario, _ -> new LinkedHashMap<>()).put(system, new Figures());
    remarks.put(new Row(scenario, system), "FAILED: " + why);
  }

  /** Something is not measured, for a reason. */
  public void leftOut(String scenario, String system, String why) {
    remarks.put(new Row(scenario, system), "left out: " + why);
  }

  public void settings(String system, String text) {
    settings.put(system, text);
  }

  public Map<String, String> settings() {
    return settings;
  }

  public Map<Row, String> remarks() {
    return remarks;
  }

  public boolean hasFailed() {
    return hasFailed;
  }

  public Map<String, Map<String, Figures>> scenarios() {
    return all;
  }

  /** A system cannot be measured here at all. */
  public void missing(String system, String why) {
    missing.put(system, why);
  }

  public Map<String, String> missing() {
    return missing;
  }

  /** Null where it was not measured. */
  public @Nullable Double get(String scenario, String system, Metric metric) {
    Figures figures = all.getOrDefault(scenario, Map.of()).get(system);
    return figures == null ? null : figures.get(metric);
  }

  /** Whether other programs had so much of the machine meanwhile that a row proves nothing. */
  public boolean isDisturbed(String scenario, String system) {
    Double other = get(scenario, system, Metric.OTHER);
    return other != null && other > DISTURBED;
  }

  /** Every row: what was measured, and its figures. */
  public void forEach(BiConsumer<Row, Figures> action) {
    all.forEach(
        (scenario, systems) ->
            systems.forEach(
                (system, figures) -> action.accept(new Row(scenario, system), figures)));
  }
}
