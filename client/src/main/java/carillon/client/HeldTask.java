package carillon.client;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/** A task held by a worker, from its claim until its result is reported. */
final class HeldTask implements TaskContext {

  private static final Duration PROGRESS_DELAY = Duration.ofMillis(200);

  private final ClaimedTask task;
  private final Consumer<TaskSource.Ending> ended;
  private final JsonMapper mapper;
  private final Executor callbacks;

  // All guarded by this.
  private @Nullable Instant leaseUntil;
  private long renewAt;
  private @Nullable Thread thread;
  private boolean isCancelled;
  private boolean isStale;
  private boolean isSettled;
  private @Nullable String progress;
  private @Nullable String sentProgress;
  private List<Runnable> onCancel = new ArrayList<>();

  /**
   * @param callbacks runs the handler's cancel callbacks
   */
  HeldTask(
      ClaimedTask task,
      Consumer<TaskSource.Ending> ended,
      JsonMapper mapper,
      Executor callbacks,
      long renewAt) {
    this.task = task;
    this.ended = ended;
    this.mapper = mapper;
    this.callbacks = callbacks;
    this.leaseUntil = task.leaseUntil();
    this.renewAt = renewAt;
  }

  @Override
  public ClaimedTask task() {
    return task;
  }

  @Override
  @SuppressWarnings("unchecked") // not type.cast, which refuses an int as an int
  public <T> T payload(Class<T> type) {
    return (T) Payloads.read(mapper, this, type);
  }

  @Override
  public synchronized @Nullable Instant leaseUntil() {
    return leaseUntil;
  }

  @Override
  public synchronized void progress(String text) {
    progress = Texts.line(text);
    renewAt = earlier(renewAt, System.nanoTime() + PROGRESS_DELAY.toNanos());
  }

  @Override
  public synchronized boolean isCancelled() {
    return isCancelled;
  }

  @Override
  public void onCancel(Runnable action) {
    synchronized (this) {
      if (!isCancelled) {
        onCancel.add(action);
        return;
      }
    }
    callbacks.execute(action);
  }

  @Override
  public synchronized boolean isStale() {
    return isStale;
  }

  @Override
  public RuntimeException release() {
    return new ReleasedTask();
  }

  /** The last progress text of the handler. */
  synchronized @Nullable String progress() {
    return progress;
  }

  /** Whether the lease must be renewed by this time; settled tasks need it until reported. */
  synchronized boolean isToRenew(long time) {
    return task.token() != null && !isStale && renewAt - time <= 0;
  }

  /** The progress text to send with the next renewal, or null if it is unchanged. */
  synchronized @Nullable String newProgress() {
    return Objects.equals(progress, sentProgress) ? null : progress;
  }

  synchronized void renewed(@Nullable Instant until, @Nullable String sent, long nextAt) {
    leaseUntil = until == null ? leaseUntil : until;
    sentProgress = sent == null ? sentProgress : sent;
    // Progress set meanwhile must not wait for the next regular renewal.
    renewAt =
        newProgress() == null
            ? nextAt
            : earlier(nextAt, System.nanoTime() + PROGRESS_DELAY.toNanos());
  }

  synchronized void renewAgainAt(long time) {
    renewAt = time;
  }

  /** Allows this thread to be interrupted because of the task. */
  synchronized void begin() {
    thread = Thread.currentThread();
  }

  /** Ends that, and clears an interrupt that came too late. */
  synchronized void end() {
    thread = null;
    Thread.interrupted();
  }

  synchronized void interrupt() {
    if (thread != null) {
      thread.interrupt();
    }
  }

  /** Returns false if the cancel was known already. */
  boolean cancel(boolean interrupting) {
    List<Runnable> actions;
    synchronized (this) {
      if (isCancelled) {
        return false;
      }
      isCancelled = true;
      actions = onCancel;
      onCancel = new ArrayList<>();
    }
    actions.forEach(callbacks::execute);
    if (interrupting) {
      interrupt();
    }
    return true;
  }

  synchronized void markStale() {
    isStale = true;
    interrupt();
  }

  /** Returns true once: only that caller decides the result of the task. */
  synchronized boolean settle() {
    boolean isFirst = !isSettled;
    isSettled = true;
    return isFirst;
  }

  void notifySource(TaskSource.Ending ending) {
    ended.accept(ending);
  }

  private static long earlier(long a, long b) {
    return a - b < 0 ? a : b;
  }
}
