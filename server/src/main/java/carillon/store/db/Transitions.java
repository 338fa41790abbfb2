package carillon.store.db;

import carillon.model.TaskId;
import carillon.model.task.ClaimedTask;
import carillon.model.task.TaskState;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Notifies listeners of the transitions that this process has committed, once per batch and
 * partition, and of other changes of single tasks. Transactions of users are not covered, nor are
 * commits whose response was lost.
 */
public final class Transitions {

  private final List<Listener> listeners = new CopyOnWriteArrayList<>();

  /**
   * Called on the committing thread, which callers wait for: return quickly, never block, and do
   * not keep the lists.
   */
  public interface Listener {

    /** PENDING became RUNNING: the tasks of one claim of a node, a worker or a broker. */
    void claimed(List<ClaimedTask> tasks);

    /** New tasks, which are PENDING. */
    default void created(List<? extends Created> tasks) {}

    /** Any other change of state. */
    void moved(List<? extends Move> moves);

    /** Another property of a task has changed, such as its due time. */
    default void touched(Touched task) {}
  }

  /** A new task. Its lane determines the tenant and the type. */
  public interface Created {

    TaskId id();

    int laneId();
  }

  /** A task that has changed its state. Its lane determines the tenant and the type. */
  public interface Move {

    TaskId id();

    int lane();

    TaskState from();

    TaskState to();

    /** The number of its last attempt, as it is now. */
    int attempt();

    /** Whether its attempt was given back and not used up. */
    default boolean isReleased() {
      return false;
    }
  }

  /**
   * One task that is in the state that it was in.
   *
   * @param attempt the number of its last attempt
   */
  public record Touched(TaskId id, int lane, TaskState state, int attempt) {}

  /** A move as a plain record, for callers without a row class of their own. */
  public record Moved(TaskId id, int lane, TaskState from, TaskState to, int attempt)
      implements Move {}

  public void listen(Listener listener) {
    listeners.add(listener);
  }

  boolean hasListeners() {
    return !listeners.isEmpty();
  }

  void claimed(List<ClaimedTask> tasks) {
    for (Listener listener : listeners) {
      listener.claimed(tasks);
    }
  }

  void created(List<? extends Created> tasks) {
    for (Listener listener : listeners) {
      listener.created(tasks);
    }
  }

  void moved(List<? extends Move> moves) {
    for (Listener listener : listeners) {
      listener.moved(moves);
    }
  }

  void touched(Touched task) {
    for (Listener listener : listeners) {
      listener.touched(task);
    }
  }
}
