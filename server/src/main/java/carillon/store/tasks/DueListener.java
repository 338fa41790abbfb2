package carillon.store.tasks;

import carillon.model.Slot;
import java.time.Instant;

/**
 * Is told after a commit that a task waits, so that it starts on time. A hint: the sweep finds what
 * was not told. The agenda is the only one; the classes that create or change tasks know it by this
 * name, because the queue is built on them.
 */
public interface DueListener {

  /** Something new waits in this lane of the slot from then on. */
  void note(Slot slot, int lane, Instant readyAt);
}
