package carillon.client;

import java.lang.reflect.Type;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Describes a worker until it is started. Not for several threads at once. */
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
      throw new IllegalArgumentException("a worker's name has 1 to 200 printable characters");
    }
    this.carillon = carillon;
    this.name = name;
  }

  /** Gives tasks of a type to a handler, with their payloads read as objects of a class. */
  public <T> WorkerBuilder handle(String type, Class<T> payload, Handler<T> handler) {
    return handle(type, context -> handler.handle(context.payload(payload), context));
  }

  /** The same for a class with type parameters, such as a {@code List<Invoice>}. */
  public WorkerBuilder handleAs(String type, Type payload, Handler<Object> handler) {
    return handle(
        type,
        context -> handler.handle(Payloads.read(carillon.mapper(), context, payload), context));
  }

  /**
   * Gives tasks of a type to a handler.
   *
   * @throws IllegalArgumentException if the type has a handler already
   */
  public WorkerBuilder handle(String type, PlainHandler handler) {
    if (handlers.putIfAbsent(type, handler) != null) {
      throw new IllegalArgumentException("there is a handler for " + type + " already");
    }
    return this;
  }

  /** At most so many handlers run at once; 32 unless said. */
  public WorkerBuilder concurrency(int handlers) {
    this.concurrency = atLeastOne("concurrency", handlers);
    return this;
  }

  /**
   * At most so many tasks are held, running or waiting for a handler; twice as many unless said.
   */
  public WorkerBuilder prefetch(int tasks) {
    this.prefetch = atLeastOne("prefetch", tasks);
    return this;
  }

  /**
   * For how long tasks are claimed and kept; 30 s unless said. Renewed at a third of it, so
   * handlers may take longer. If this process dies, its tasks go to another one after so long.
   */
  public WorkerBuilder lease(Duration lease) {
    if (lease.compareTo(MIN_LEASE) < 0 || lease.compareTo(MAX_LEASE) > 0) {
      throw new IllegalArgumentException("a lease lasts from 1 second to 24 hours");
    }
    this.lease = lease;
    return this;
  }

  /** How long one request waits for tasks, at most a minute; 20 s unless said. */
  public WorkerBuilder pollWait(Duration wait) {
    if (wait.isNegative() || wait.compareTo(MAX_WAIT) > 0) {
      throw new IllegalArgumentException("a poll waits from 0 to 60 seconds");
    }
    this.wait = wait.compareTo(MIN_WAIT) < 0 ? MIN_WAIT : wait; // never in a tight loop
    return this;
  }

  /** How long {@link Worker#close} lets handlers end by themselves; 30 s unless said. */
  public WorkerBuilder stopTimeout(Duration timeout) {
    this.stopTimeout = timeout;
    return this;
  }

  /** Interrupts handlers whose task is cancelled; otherwise they are only told. */
  public WorkerBuilder interruptOnCancel() {
    this.interruptOnCancel = true;
    return this;
  }

  /** Takes tasks from elsewhere, such as a broker; from Carillon itself unless said. */
  public WorkerBuilder source(TaskSource source) {
    this.source = source;
    return this;
  }

  /** Tells somebody what happens, instead of the log. */
  public WorkerBuilder listener(WorkerListener listener) {
    this.listener = listener;
    return this;
  }

  /**
   * Starts the worker.
   *
   * @throws IllegalStateException if there is no handler, or more than the server takes
   */
  public Worker start() {
    if (handlers.isEmpty()) {
      throw new IllegalStateException("worker " + name + " has no handler");
    }
    if (source == null && handlers.size() > PullSource.MAX_TYPES) {
      throw new IllegalStateException(
          "a worker that pulls has at most " + PullSource.MAX_TYPES + " types; start another one");
    }
    int most = prefetch == 0 ? 2 * concurrency : prefetch;
    var settings =
        new Worker.Settings(
            name,
            Map.copyOf(handlers),
            Math.min(concurrency, most),
            most,
            lease,
            stopTimeout,
            interruptOnCancel);
    TaskSource from = source == null ? new PullSource(carillon, wait) : source;
    return Worker.start(carillon, settings, from, new SafeListener(listener));
  }

  private static int atLeastOne(String what, int number) {
    if (number < 1) {
      throw new IllegalArgumentException(what + " must be at least 1, was " + number);
    }
    return number;
  }
}
