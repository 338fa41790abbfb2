package carillon.client.broker;

import carillon.client.ClaimedTask;
import carillon.client.TaskSource.Ending;
import carillon.client.TaskSource.Sink;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The attempts that a worker is running. If the broker delivers a message again, because the
 * connection or a partition was lost, it waits for the running attempt instead of starting another
 * one. Thread-safe.
 */
public final class OpenAttempts {

  private static final int REMEMBERED = 1_000;

  private final Map<Attempt, List<Consumer<Ending>>> open = new HashMap<>();
  private final Map<Attempt, Ending> ended =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Attempt, Ending> eldest) {
          return size() > REMEMBERED;
        }
      };

  /** A task and its fence, which increases when the task is published again. */
  private record Attempt(UUID id, long fence) {}

  /** Creates an empty set. */
  public OpenAttempts() {}

  /**
   * Delivers a task to the worker, unless this attempt is already running.
   *
   * @param isRepeat whether the broker marks the message as redelivered; an attempt that ended
   *     recently is then not run again
   * @param whenEnded called once, on any thread, possibly immediately
   */
  public void accept(Sink sink, ClaimedTask task, boolean isRepeat, Consumer<Ending> whenEnded) {
    Attempt attempt = new Attempt(task.id(), task.fence());
    Ending known;
    synchronized (this) {
      known = isRepeat ? ended.get(attempt) : null;
      List<Consumer<Ending>> others = open.get(attempt);
      if (known == null && others != null) {
        others.add(whenEnded);
        return;
      }
      if (known == null) {
        open.put(attempt, new ArrayList<>(List.of(whenEnded)));
      }
    }
    if (known == null) {
      sink.accept(task, how -> ended(attempt, how));
    } else {
      whenEnded.accept(known);
    }
  }

  private void ended(Attempt attempt, Ending how) {
    List<Consumer<Ending>> all;
    synchronized (this) {
      all = remove(attempt);
      if (how != Ending.RELEASED) {
        ended.put(attempt, how);
      }
    }
    all.forEach(each -> each.accept(how));
  }

  private List<Consumer<Ending>> remove(Attempt attempt) {
    @Nullable List<Consumer<Ending>> all = open.remove(attempt);
    return all == null ? List.of() : all;
  }
}
