package carillon.bench;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;

/** What a run measured: the figures of each system in each scenario, in the order measured. */
final class Results {

  private final Map<String, Map<String, Figures>> all = new LinkedHashMap<>();

  void add(String scenario, String system, Figures figures) {
    all.computeIfAbsent(scenario, _ -> new LinkedHashMap<>()).put(system, figures);
  }

  Map<String, Map<String, Figures>> all() {
    return all;
  }

  /** Every row: what was measured, and its figures. */
  void forEach(BiConsumer<Row, Figures> action) {
    all.forEach(
        (scenario, systems) ->
            systems.forEach(
                (system, figures) -> action.accept(new Row(scenario, system), figures)));
  }

  /** Names one scenario of one system. */
  record Row(String scenario, String system) {}
}
