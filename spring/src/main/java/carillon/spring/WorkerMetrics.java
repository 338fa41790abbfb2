package carillon.spring;

import carillon.client.ClaimedTask;
import carillon.client.WorkerListener;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts what the worker does, by type and result. Types are those of methods, so few. */
final class WorkerMetrics implements WorkerListener {

  private final MeterRegistry registry;
  private final AtomicInteger running;
  private final Counter callsFailed;

  WorkerMetrics(MeterRegistry registry) {
    this.registry = registry;
    this.running = new AtomicInteger();
    registry.gauge("carillon.worker.running", running);
    this.callsFailed =
        Counter.builder("carillon.worker.calls.failed")
            .description("Calls to Carillon that failed and were repeated")
            .register(registry);
  }

  @Override
  public void started(ClaimedTask task) {
    running.incrementAndGet();
  }

  @Override
  public void ended(ClaimedTask task, Result result, Duration took) {
    running.updateAndGet(now -> Math.max(0, now - 1));
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
