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

/** The tasks that a worker holds: takes them from the source and runs a handler for each. */
final class HeldTasks implements TaskSource.Sink, LeaseRenewer.Observer {

  private final Carillon carillon;
  private final Worker.Settings settings;
  private final WorkerListener listener;
  private final Executor threads;
  private final Executor callbacks;
  private final Reporter reporter;
  private final ThreadLocal<Boolean> isHandler = ThreadLocal.withInitial(() -> false);

  /** By task and fence: a task may come again while its stale attempt still runs. */
  private final Map<List<Object>, HeldTask> held = new ConcurrentHashMap<>();

  private final Set<HeldTask> running = ConcurrentHashMap.newKeySet();

  // Guarded by this.
  private final Queue<HeldTask> waiting = new ArrayDeque<>();
  private int started;
  private boolean isStopping;

  private volatile boolean isConnected;

  /**
   * @param threads where handlers run
   * @param callbacks where their own wishes do, which must not wait for a handler to end
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
    this.reporter = new Reporter(carillon, settings.name(), listener, this::over);
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
    int worthIt = Math.max(1, Math.min(spare, settings.prefetch() / 4));
    long end = System.nanoTime() + timeout.toNanos();
    for (long left = timeout.toNanos(); left > 0; left = end - System.nanoTime()) {
      if (isStopping || room() >= worthIt) {
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

  /** Whether it is called by one of its own handlers. */
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
      held.put(name(one), one);
      if (!isStopping) {
        waiting.add(one);
        startWaiting();
        return;
      }
    }
    settle(one, Report.released("the worker stops"), Duration.ZERO);
  }

  private static List<Object> name(HeldTask one) {
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
        settle(one, Report.released("cancelled before it began"), Duration.ZERO);
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
    } catch (Throwable e) { // of whatever users' code throws, only this attempt dies
      report = thrown(one, e);
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
      // Only from a broker: what is pulled is asked for by type.
      return context -> {
        throw new IllegalStateException(
            "worker " + settings.name() + " has no handler for " + context.type());
      };
    }
    return handler;
  }

  private Report thrown(HeldTask one, Throwable what) {
    boolean gaveUp = what instanceof InterruptedException || what instanceof CancellationException;
    if (gaveUp && (one.isCancelled() || isStopping())) {
      return Report.released(one.isCancelled() ? "cancelled" : "the worker stops");
    }
    if (!(what instanceof ReleasedTask) && !one.isStale()) {
      listener.handlerThrew(one.task(), what);
    }
    return Report.thrown(what);
  }

  private synchronized boolean isStopping() {
    return isStopping;
  }

  /** The first to say how a task ends is right; of the others nobody hears. */
  private void settle(HeldTask one, Report report, Duration took) {
    if (!one.settle()) {
      return;
    }
    listener.ended(one.task(), report.result(), took);
    if (one.task().token() == null) {
      over(one, report.unreported());
    } else {
      reporter.add(one, report);
    }
  }

  private void over(HeldTask one, TaskSource.Ending ending) {
    held.remove(name(one), one);
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
    boolean isFirst = one.settle(); // before its handler hears of it, and returns
    one.lose();
    if (isFirst) {
      listener.ended(one.task(), WorkerListener.Result.STALE, Duration.ZERO);
      listener.stale(one.task());
      over(one, TaskSource.Ending.STALE);
    }
  }

  /** Begins no more handlers and gives back what waits for one. */
  void stop() {
    List<HeldTask> unused;
    synchronized (this) {
      isStopping = true;
      unused = List.copyOf(waiting);
      waiting.clear();
      notifyAll();
    }
    unused.forEach(one -> settle(one, Report.released("the worker stops"), Duration.ZERO));
  }

  /** Waits for handlers; false if some still run when the time is over. */
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

  /** Gives back what handlers did not finish, and says all that is to be said. */
  void close(Duration timeout) {
    for (HeldTask one : List.copyOf(held.values())) {
      settle(one, Report.released("the worker stopped before it was done"), Duration.ZERO);
    }
    reporter.close(timeout);
  }

  /** For messages about it. */
  @Override
  public @Nullable String toString() {
    return "worker " + settings.name();
  }
}
