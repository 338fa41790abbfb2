package carillon.model;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Notifies its listeners of a change. It carries no data: they read the state again. A lost signal
 * costs at most a second, because every loop also runs on a timer.
 */
public final class Signal {

  private final List<Runnable> listeners = new CopyOnWriteArrayList<>();

  /** Called while the node is being wired. Listeners run in the order in which they were added. */
  public void add(Runnable listener) {
    listeners.add(listener);
  }

  /** Runs the listeners on the caller's thread: they must neither block nor throw. */
  public void raise() {
    listeners.forEach(Runnable::run);
  }
}
