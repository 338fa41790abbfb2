package carillon.bench.figures;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The results of a run: the figures of each system in each scenario, in the order measured, and
 * remarks about them.
 */
public final class Results {

  /** If other programs use more cores than this, a row is only a lower bound. */
  private static final double DISTURBED = 0.1;

  private final Map<String, Map<String, Figures>> all = new LinkedHashMap<>();
  private final Map<Row, String> remarks = new LinkedHashMap<>();
  private final Map<String, String> settings = new LinkedHashMap<>();
  private final Map<String, String> missing = new LinkedHashMap<>();
  private boolean hasFailed;

  /** Identifies the result of one system in one scenario. */
  public record Row(String scenario, String system) {}

  public void add(String scenario, String system, Figures figures) {
    all.computeIfAbsent(scenario, _ -> new LinkedHashMap<>()).put(system, figures);
    if (figures.note() != null) {
      remarks.put(new Row(scenario, system), figures.note());
    }
  }

  /** Records a measurement that failed. */
  public void failed(String scenario, String system, String why) {
    hasFailed = true;
    all.computeIfAbsent(scenario, _ -> new LinkedHashMap<>()).put(system, new Figures());
    remarks.put(new Row(scenario, system), "FAILED: " + why);
  }

  /** Records a measurement that was skipped on purpose. */
  public void skipped(String scenario, String system, String why) {
    remarks.put(new Row(scenario, system), "skipped: " + why);
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

  /** Records a system that cannot run on this machine. */
  public void missing(String system, String why) {
    missing.put(system, why);
  }

  public Map<String, String> missing() {
    return missing;
  }

  /** Null if it was not measured. */
  public @Nullable Double get(String scenario, String system, Metric metric) {
    Figures figures = all.getOrDefault(scenario, Map.of()).get(system);
    return figures == null ? null : figures.get(metric);
  }

  /** Whether other programs used too much CPU during the measurement for it to be conclusive. */
  public boolean isDisturbed(String scenario, String system) {
    Double other = get(scenario, system, Metric.OTHER);
    return other != null && other > DISTURBED;
  }

  public void forEach(BiConsumer<Row, Figures> action) {
    all.forEach(
        (scenario, systems) ->
            systems.forEach(
                (system, figures) -> action.accept(new Row(scenario, system), figures)));
  }
}
