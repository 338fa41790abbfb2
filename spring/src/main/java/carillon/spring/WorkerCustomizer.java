package carillon.spring;

import carillon.client.WorkerBuilder;

/** Customizes the worker before it starts, for example with another source. */
@FunctionalInterface
public interface WorkerCustomizer {

  /** Called at each start, after the properties are applied. */
  void customize(WorkerBuilder worker);
}
