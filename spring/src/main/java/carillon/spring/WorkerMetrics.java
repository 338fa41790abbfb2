package carillon.spring;

import carillon.client.ClaimedTask;
import carillon.client.WorkerListener;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Locale;
import java.util.function.Supplier;

/** Metrics of the worker, by type and result. The types are those of the methods, so few. */
final class WorkerMetrics implements WorkerListener {

  private final MeterRegistry registry;
  private final Counter callsFailed;

  /**
   * @param running the number of running handlers
   */
  WorkerMetrics(MeterRegistry registry, Supplier<Number> running) {
    this.registry = registry;
    Gauge.builder("carillon.worker.running", running)
        .description("Running handlers")
        .register(registry);
    this.callsFailed =
        Counter.builder("carillon.worker.calls.failed")
            .description("Failed calls to Carillon, which are retried")
            .register(registry);
  }

  @Override
  public void ended(ClaimedTask task, Result result, Duration took) {
    Timer.builder("carillon.worker.tasks")
        .description("Duration of task attempts")
        .tag("type", task.type())
        .tag("result", result.name().toLowerCase(Locale.ROOT))
        .register(registry)
        .record(took);
  }

  @Override
  public void callFailed(Exception why) {
    callsFailed.increment();
  }
}
