package carillon.store.tasks;

import carillon.model.Partition;
import java.time.Instant;

/**
 * Is told after a commit that a task waits, so that it starts on time. A hint: the sweep finds what
 * was not told. The agenda is the only one; the classes that create or change tasks know it by this
 * name, because the queue is built on them.
 */
public interface DueListener {

  /** Something new waits in this lane of the partition from then on. */
  void note(Partition partition, int lane, Instant readyAt);
}
