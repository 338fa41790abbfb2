package carillon.client;

import java.lang.reflect.Type;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Builds and starts a worker. Not thread-safe. */
public final class WorkerBuilder {

  private static final Duration MIN_LEASE = Duration.ofSeconds(1);
  private static final Duration MAX_LEASE = Duration.ofHours(24);
  private static final Duration MIN_WAIT = Duration.ofMillis(100);
  private static final Duration MAX_WAIT = Duration.ofSeconds(60);

  private final Carillon carillon;
  private final String name;
  private final Map<String, PlainHandler> handlers = new LinkedHashMap<>();
  private int concurrency = 32;
  private int prefetch;
  private Duration lease = Duration.ofSeconds(30);
  private Duration wait = Duration.ofSeconds(20);
  private Duration stopTimeout = Duration.ofSeconds(30);
  private boolean interruptOnCancel;
  private @Nullable TaskSource source;
  private WorkerListener listener = new LoggingListener();

  WorkerBuilder(Carillon carillon, String name) {
    if (name.isBlank() || name.length() > 200 || !name.equals(Texts.line(name))) {
      throw new IllegalArgumentException("a worker name must have 1 to 200 printable characters");
    }
    this.carillon = carillon;
    this.name = name;
  }

  /** Sets the handler of a type, with payloads read as objects of a class. */
  public <T> WorkerBuilder handle(String type, Class<T> payload, Handler<T> handler) {
    return handle(type, context -> handler.handle(context.payload(payload), context));
  }

  /** Sets the handler of a type, with payloads of a generic type such as {@code List<Invoice>}. */
  public WorkerBuilder handleAs(String type, Type payload, Handler<Object> handler) {
    return handle(
        type,
        context -> handler.handle(Payloads.read(carillon.mapper(), context, payload), context));
  }

  /**
   * Sets the handler of a type.
   *
   * @throws IllegalArgumentException if the type already has a handler
   */
  public WorkerBuilder handle(String type, PlainHandler handler) {
    if (handlers.putIfAbsent(type, handler) != null) {
      throw new IllegalArgumentException("type " + type + " already has a handler");
    }
    return this;
  }

  /** Sets the maximum number of concurrent handlers. Default: 32. */
  public WorkerBuilder concurrency(int handlers) {
    this.concurrency = atLeastOne("concurrency", handlers);
    return this;
  }

  /**
   * Sets the maximum number of tasks held, running or waiting for a handler. Default: twice the
   * concurrency.
   */
  public WorkerBuilder prefetch(int tasks) {
    this.prefetch = atLeastOne("prefetch", tasks);
    return this;
  }

  /**
   * Sets the lease of tasks. Default: 30 s. Leases are renewed at a third of it, so handlers may
   * take longer. If this process dies, other workers get its tasks after this time.
   */
  public WorkerBuilder lease(Duration lease) {
    if (lease.compareTo(MIN_LEASE) < 0 || lease.compareTo(MAX_LEASE) > 0) {
      throw new IllegalArgumentException("a lease must be between 1 second and 24 hours");
    }
    this.lease = lease;
    return this;
  }

  /** Sets how long one request waits for tasks, at most a minute. Default: 20 s. */
  public WorkerBuilder pollWait(Duration wait) {
    if (wait.isNegative() || wait.compareTo(MAX_WAIT) > 0) {
      throw new IllegalArgumentException("the poll wait must be between 0 and 60 seconds");
    }
    this.wait = wait.compareTo(MIN_WAIT) < 0 ? MIN_WAIT : wait; // avoids a tight loop
    return this;
  }

  /** Sets how long {@link Worker#close} lets handlers finish. Default: 30 s. */
  public WorkerBuilder stopTimeout(Duration timeout) {
    this.stopTimeout = timeout;
    return this;
  }

  /** Interrupts handlers whose task is cancelled. Default: they are only notified. */
  public WorkerBuilder interruptOnCancel() {
    this.interruptOnCancel = true;
    return this;
  }

  /** Sets the source of tasks, such as a broker. Default: pull from Carillon. */
  public WorkerBuilder source(TaskSource source) {
    this.source = source;
    return this;
  }

  /** Sets a listener instead of the default one, which logs. */
  public WorkerBuilder listener(WorkerListener listener) {
    this.listener = listener;
    return this;
  }

  /**
   * Starts the worker.
   *
   * @throws IllegalStateException if there is no handler, or more types than one claim may name
   */
  public Worker start() {
    if (handlers.isEmpty()) {
      throw new IllegalStateException("worker " + name + " has no handler");
    }
    if (source == null && handlers.size() > PullSource.MAX_TYPES) {
      throw new IllegalStateException(
          "a pull worker can have at most "
              + PullSource.MAX_TYPES
              + " types; start another worker");
    }
    int held = prefetch == 0 ? 2 * concurrency : prefetch;
    var settings =
        new Worker.Settings(
            name,
            Map.copyOf(handlers),
            Math.min(concurrency, held),
            held,
            lease,
            stopTimeout,
            interruptOnCancel);
    TaskSource from = source == null ? new PullSource(carillon, wait) : source;
    return Worker.start(carillon, settings, from, new SafeListener(listener));
  }

  private static int atLeastOne(String name, int number) {
    if (number < 1) {
      throw new IllegalArgumentException(name + " must be at least 1, was " + number);
    }
    return number;
  }
}
