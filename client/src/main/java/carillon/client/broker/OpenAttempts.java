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
 * The attempts that a worker has in hand: a message of one of them that comes again, because the
 * connection or a partition was lost meanwhile, waits for it instead of running beside it. Safe to
 * share between threads.
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

  /** A task and its fence: what is published anew has a higher one. */
  private record Attempt(UUID id, long fence) {}

  /** Nothing is in hand. */
  public OpenAttempts() {}

  /**
   * Hands a task to the worker unless it has it already.
   *
   * @param isRepeat whether the broker says that it sends the message again; then one that ended
   *     lately is not run again
   * @param whenEnded told once, on any thread; perhaps at once
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
