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

/** Counts what the worker does, by type and result. Types are those of methods, so few. */
final class WorkerMetrics implements WorkerListener {

  private final MeterRegistry registry;
  private final Counter callsFailed;

  /**
   * @param running how many handlers run now
   */
  WorkerMetrics(MeterRegistry registry, Supplier<Number> running) {
    this.registry = registry;
    Gauge.builder("carillon.worker.running", running)
        .description("Handlers that run at the moment")
        .register(registry);
    this.callsFailed =
        Counter.builder("carillon.worker.calls.failed")
            .description("Calls to Carillon that failed and were repeated")
            .register(registry);
  }

  @Override
  public void ended(ClaimedTask task, Result result, Duration took) {
    Timer.builder("carillon.worker.tasks")
        .description("Tasks that ended here, and how long they took")
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
