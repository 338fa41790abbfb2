package carillon.store.tasks;

import carillon.model.Partition;
import java.time.Instant;

/**
 * Receives the ready times of tasks after the commit, so that they start on time. A hint: the sweep
 * finds what it misses. The agenda is the only implementation; this interface exists because the
 * package of the agenda depends on this one.
 */
public interface DueListener {

  /** A task in this lane of the partition is ready at that time. */
  void onReady(Partition partition, int lane, Instant readyAt);
}
