package carillon.client;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The tasks that a worker holds. Runs a handler for each task that the source delivers. */
final class HeldTasks implements TaskSource.Sink, LeaseRenewer.Observer {

  private final Carillon carillon;
  private final Worker.Settings settings;
  private final WorkerListener listener;
  private final Executor threads;
  private final Executor callbacks;
  private final Reporter reporter;
  private final ThreadLocal<Boolean> isHandler = ThreadLocal.withInitial(() -> false);

  /** By task and fence: a task may be delivered again while its stale attempt still runs. */
  private final Map<List<Object>, HeldTask> held = new ConcurrentHashMap<>();

  private final Set<HeldTask> running = ConcurrentHashMap.newKeySet();

  // Guarded by this.
  private final Queue<HeldTask> waiting = new ArrayDeque<>();
  private int started;
  private boolean isStopping;

  private volatile boolean isConnected;

  /**
   * @param threads runs handlers
   * @param callbacks runs cancel callbacks, which must not wait for a handler to finish
   */
  HeldTasks(
      Carillon carillon,
      Worker.Settings settings,
      WorkerListener listener,
      Executor threads,
      Executor callbacks) {
    this.carillon = carillon;
    this.settings = settings;
    this.listener = listener;
    this.threads = threads;
    this.callbacks = callbacks;
    this.reporter = new Reporter(carillon, settings.name(), listener, this::finished);
  }

  @Override
  public Set<String> types() {
    return settings.handlers().keySet();
  }

  @Override
  public String worker() {
    return settings.name();
  }

  @Override
  public Duration lease() {
    return settings.lease();
  }

  @Override
  public int prefetch() {
    return settings.prefetch();
  }

  @Override
  public synchronized int room() {
    return isStopping ? 0 : Math.max(0, settings.prefetch() - held.size());
  }

  @Override
  public synchronized int awaitRoom(Duration timeout) throws InterruptedException {
    int spare = settings.prefetch() - settings.concurrency();
    int minClaim = Math.max(1, Math.min(spare, settings.prefetch() / 4));
    long end = System.nanoTime() + timeout.toNanos();
    for (long left = timeout.toNanos(); left > 0; left = end - System.nanoTime()) {
      if (isStopping || room() >= minClaim) {
        return room();
      }
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
    return room();
  }

  @Override
  public void connected() {
    isConnected = true;
  }

  @Override
  public void failed(Exception why) {
    isConnected = false;
    listener.callFailed(why);
  }

  boolean isConnected() {
    return isConnected;
  }

  Collection<HeldTask> held() {
    return held.values();
  }

  int running() {
    return running.size();
  }

  /** Whether the caller is one of this worker's handlers. */
  boolean isOwnHandler() {
    return isHandler.get();
  }

  @Override
  public void accept(ClaimedTask task, Consumer<TaskSource.Ending> ended) {
    HeldTask one =
        new HeldTask(
            task,
            ended,
            carillon.mapper(),
            callbacks,
            LeaseRenewer.renewAt(settings.lease(), task.leaseUntil()));
    listener.claimed(task);
    synchronized (this) {
      held.put(keyOf(one), one);
      if (!isStopping) {
        waiting.add(one);
        startWaiting();
        return;
      }
    }
    settle(one, Report.released("the worker is stopping"), Duration.ZERO);
  }

  private static List<Object> keyOf(HeldTask one) {
    UUID id = one.id();
    return List.of(id, one.fence());
  }

  private synchronized void startWaiting() {
    while (started < settings.concurrency() && !waiting.isEmpty()) {
      HeldTask next = waiting.remove();
      started++;
      threads.execute(() -> work(next));
    }
  }

  private void work(HeldTask one) {
    try {
      if (one.isCancelled()) {
        settle(one, Report.released("cancelled before it started"), Duration.ZERO);
      } else if (!one.isStale()) {
        handle(one);
      }
    } finally {
      synchronized (this) {
        started--;
        startWaiting();
        notifyAll();
      }
    }
  }

  private void handle(HeldTask one) {
    long start = System.nanoTime();
    listener.started(one.task());
    running.add(one);
    isHandler.set(true);
    one.begin();
    Report report;
    try {
      report = Report.completed(carillon.mapper(), handler(one).handle(one));
    } catch (Throwable e) { // whatever user code throws fails only this attempt
      report = reportFor(one, e);
    } finally {
      one.end();
      isHandler.remove();
      running.remove(one);
    }
    settle(one, report, Duration.ofNanos(System.nanoTime() - start));
  }

  private PlainHandler handler(HeldTask one) {
    PlainHandler handler = settings.handlers().get(one.type());
    if (handler == null) {
      // Happens only with brokers: a pull names its types.
      return context -> {
        throw new IllegalStateException(
            "worker " + settings.name() + " has no handler for " + context.type());
      };
    }
    return handler;
  }

  private Report reportFor(HeldTask one, Throwable what) {
    boolean gaveUp = what instanceof InterruptedException || what instanceof CancellationException;
    if (gaveUp && (one.isCancelled() || isStopping())) {
      return Report.released(one.isCancelled() ? "cancelled" : "the worker is stopping");
    }
    if (!(what instanceof ReleasedTask) && !one.isStale()) {
      listener.handlerThrew(one.task(), what);
    }
    return Report.thrown(what);
  }

  private synchronized boolean isStopping() {
    return isStopping;
  }

  /** The first result of a task counts; later ones are ignored. */
  private void settle(HeldTask one, Report report, Duration took) {
    if (!one.settle()) {
      return;
    }
    listener.ended(one.task(), report.result(), took);
    if (one.task().token() == null) {
      finished(one, report.unreported());
    } else {
      reporter.add(one, report);
    }
  }

  private void finished(HeldTask one, TaskSource.Ending ending) {
    held.remove(keyOf(one), one);
    synchronized (this) {
      notifyAll();
    }
    try {
      one.notifySource(ending);
    } catch (RuntimeException e) {
      listener.callFailed(e);
    }
  }

  @Override
  public void cancelled(HeldTask one) {
    if (one.cancel(settings.interruptOnCancel())) {
      listener.cancelled(one.task());
    }
  }

  @Override
  public void lost(HeldTask one) {
    boolean isFirst = one.settle(); // before the handler notices and returns
    one.markStale();
    if (isFirst) {
      listener.ended(one.task(), WorkerListener.Result.STALE, Duration.ZERO);
      listener.stale(one.task());
      finished(one, TaskSource.Ending.STALE);
    }
  }

  /** Starts no more handlers and releases tasks that wait for one. */
  void stop() {
    List<HeldTask> unused;
    synchronized (this) {
      isStopping = true;
      unused = List.copyOf(waiting);
      waiting.clear();
      notifyAll();
    }
    unused.forEach(one -> settle(one, Report.released("the worker is stopping"), Duration.ZERO));
  }

  /** Waits for handlers. Returns false if some still run at the timeout. */
  synchronized boolean awaitHandlers(Duration timeout) throws InterruptedException {
    long end = System.nanoTime() + timeout.toNanos();
    for (long left = timeout.toNanos(); started > 0 && left > 0; left = end - System.nanoTime()) {
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
    return started == 0;
  }

  void interruptHandlers() {
    running.forEach(HeldTask::interrupt);
  }

  /** Releases unfinished tasks and sends all reports. */
  void close(Duration timeout) {
    for (HeldTask one : List.copyOf(held.values())) {
      settle(one, Report.released("the worker stopped before the handler finished"), Duration.ZERO);
    }
    reporter.close(timeout);
  }

  @Override
  public @Nullable String toString() {
    return "worker " + settings.name();
  }
}
