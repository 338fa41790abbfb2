package carillon.bench.figures;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;

/** Values by name, in the order in which they were added. */
public final class Sample {

  private final Map<String, Double> values = new LinkedHashMap<>();

  public Sample with(String name, double value) {
    values.put(name, value);
    return this;
  }

  /** A value that every sample of this kind has. */
  public double get(String name) {
    Double value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException("no " + name + " in " + values.keySet());
    }
    return value;
  }

  public void forEach(BiConsumer<String, Double> action) {
    values.forEach(action);
  }
}
