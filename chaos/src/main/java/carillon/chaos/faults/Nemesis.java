package carillon.chaos.faults;

import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.HarnessThread;
import carillon.chaos.cluster.Node;
import carillon.chaos.history.Fields;
import carillon.chaos.history.Recorder;
import carillon.chaos.load.Load;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Injects the faults of a plan, and records when each started and ended. */
public final class Nemesis {

  /** How long a fault waits for the moment when it does the most damage. */
  private static final Duration MAX_WAIT = Duration.ofSeconds(3);

  /** Submits acknowledged in the last second, before the database crashes. */
  private static final int ENOUGH_ACKNOWLEDGED = 55;

  private static final Set<Fault> NEED_CLAIMS =
      EnumSet.of(
          Fault.KILL9,
          Fault.KILL_ALL,
          Fault.LEADER_KILL,
          Fault.PAUSE_LONG,
          Fault.LEADER_PAUSE,
          Fault.SIGTERM);

  private final Load load;
  private final Recorder recorder;
  private final FaultInjector injector;
  private final AtomicInteger ids = new AtomicInteger();

  public Nemesis(Cluster cluster, Load load) {
    this.load = load;
    this.recorder = cluster.recorder();
    this.injector = new FaultInjector(cluster);
  }

  /** Returns when the time is over and every fault has ended. */
  public void run(List<PlannedFault> plan, Duration length) throws InterruptedException {
    long start = System.nanoTime();
    List<Thread> injections = new ArrayList<>();
    try {
      for (PlannedFault planned : plan) {
        sleepUntil(start + planned.at().toNanos());
        injections.add(
            HarnessThread.start(recorder, planned.fault().label(), () -> inject(planned)));
      }
      sleepUntil(start + length.toNanos());
    } finally {
      injections.forEach(Thread::interrupt); // each fault undoes itself
    }
    for (Thread injection : injections) {
      injection.join();
    }
  }

  private static void sleepUntil(long nanos) throws InterruptedException {
    long wait = nanos - System.nanoTime();
    if (wait > 0) {
      Thread.sleep(Duration.ofNanos(wait));
    }
  }

  private void inject(PlannedFault planned) {
    Fault fault = planned.fault();
    int id = ids.incrementAndGet();
    Optional<Node> victim = injector.victim(planned);
    Fields fields = Fields.of("fault", fault.label()).and("id", id);
    if (victim.isEmpty() && FaultInjector.needsNode(fault)) {
      recorder.event("fault-skipped", fields);
      return;
    }
    AtomicLong effect = new AtomicLong();
    try {
      recorder.event(
          "fault-start",
          fields
              .and("node", victim.map(Node::label).orElse(null))
              .and("millis", planned.length().toMillis())
              .and("inFlight", awaitInFlight(fault, victim))
              .and("acknowledged", awaitAcknowledged(fault)));
      injector.inject(planned, victim, effect);
    } catch (InterruptedException _) {
      // The time is over, and the fault has been undone.
    } catch (IOException | SQLException | RuntimeException | Error e) {
      recorder.event("fault-failed", fields.and("error", String.valueOf(e)));
    } finally {
      recorder.event("fault-end", fields.and(effect(fault, effect.get())));
    }
  }

  /** The effect of faults that may turn out to have none. */
  private static Fields effect(Fault fault, long effect) {
    return switch (fault) {
      case AMBIGUOUS_COMMIT -> Fields.of("cuts", effect);
      case BACKEND_KILL_CLAIM, BACKEND_KILL_IDLE, LEADER_BACKEND_KILL -> Fields.of("ended", effect);
      default -> Fields.none();
    };
  }

  /**
   * Waits for a claim if the fault only matters with work in flight; returns the number of claims.
   */
  private @Nullable Long awaitInFlight(Fault fault, Optional<Node> victim)
      throws InterruptedException {
    if (!NEED_CLAIMS.contains(fault)) {
      return null;
    }
    long end = System.nanoTime() + MAX_WAIT.toNanos();
    long inFlight = injector.inFlight(victim);
    while (inFlight == 0 && System.nanoTime() - end < 0) {
      Thread.sleep(40);
      inFlight = injector.inFlight(victim);
    }
    return inFlight;
  }

  private @Nullable Long awaitAcknowledged(Fault fault) throws InterruptedException {
    if (fault != Fault.PG_CRASH) {
      return null;
    }
    long end = System.nanoTime() + MAX_WAIT.toNanos();
    while (load.acknowledgedLately() < ENOUGH_ACKNOWLEDGED && System.nanoTime() - end < 0) {
      Thread.sleep(40);
    }
    return load.acknowledgedLately();
  }
}
