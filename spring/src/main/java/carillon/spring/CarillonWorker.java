package carillon.spring;

import carillon.client.Carillon;
import carillon.client.Worker;
import carillon.client.WorkerBuilder;
import carillon.client.WorkerListener;
import java.util.List;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;

/**
 * The application's worker. Starts last and stops first, so that handlers can use all other beans.
 * Does not start without a {@link CarillonTask} method.
 */
public final class CarillonWorker implements SmartLifecycle {

  private static final Log log = LogFactory.getLog(CarillonWorker.class);

  private final Carillon carillon;
  private final String name;
  private final CarillonProperties.Worker settings;
  private final TaskMethods methods;
  private final List<WorkerListener> listeners;
  private final List<WorkerCustomizer> customizers;
  private volatile @Nullable Worker worker;

  CarillonWorker(
      Carillon carillon,
      String name,
      CarillonProperties.Worker settings,
      TaskMethods methods,
      List<WorkerListener> listeners,
      List<WorkerCustomizer> customizers) {
    this.carillon = carillon;
    this.name = name;
    this.settings = settings;
    this.methods = methods;
    this.listeners = List.copyOf(listeners);
    this.customizers = List.copyOf(customizers);
  }

  @Override
  public void start() {
    List<TaskMethod> found = methods.find();
    if (worker != null || found.isEmpty()) {
      return;
    }
    WorkerBuilder builder =
        carillon
            .worker(name)
            .concurrency(settings.concurrency())
            .lease(settings.lease())
            .stopTimeout(settings.stopTimeout())
            .listener(new Listeners(listeners));
    found.forEach(method -> method.register(builder));
    customizers.forEach(customizer -> customizer.customize(builder));
    worker = builder.start();
    log.info(
        "started worker name=" + name + " types=" + found.stream().map(TaskMethod::type).toList());
  }

  /** Accepts no more tasks, lets running ones finish and releases the rest. */
  @Override
  public void stop() {
    Worker running = worker;
    if (running != null) {
      running.close();
      worker = null;
    }
  }

  @Override
  public boolean isRunning() {
    return worker != null;
  }

  /** The number of running handlers. */
  public int running() {
    Worker now = worker;
    return now == null ? 0 : now.running();
  }

  /** Starts last and stops first. */
  @Override
  public int getPhase() {
    return DEFAULT_PHASE;
  }
}
