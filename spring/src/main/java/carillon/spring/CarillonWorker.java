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
 * The application's worker. It starts when everything else runs and stops before anything else
 * does, so that handlers find what they need; without a {@link CarillonTask} there is none.
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
    log.info("Worker " + name + " takes tasks of " + found.stream().map(TaskMethod::type).toList());
  }

  /** Takes no more tasks, lets those that run end, and gives back what is left. */
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

  /** How many handlers run at the moment. */
  public int running() {
    Worker now = worker;
    return now == null ? 0 : now.running();
  }

  /** The last to start and the first to stop. */
  @Override
  public int getPhase() {
    return DEFAULT_PHASE;
  }
}
