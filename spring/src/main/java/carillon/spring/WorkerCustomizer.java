package carillon.spring;

import carillon.client.WorkerBuilder;

/** A bean of this kind says more about the worker before it starts, such as another source. */
@FunctionalInterface
public interface WorkerCustomizer {

  /** Called once for each start, after the properties were applied. */
  void customize(WorkerBuilder worker);
}
