package carillon.chaos.faults;

import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.Node;
import carillon.chaos.cluster.Watched;
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

/** Lets a plan of faults happen, and notes when each began and ended. */
public final class Nemesis {

  /** How long a fault waits for the moment in which it hurts most. */
  private static final Duration PATIENCE = Duration.ofSeconds(3);

  /** Acknowledged in the second before the database crashes. */
  private static final int ENOUGH_ACKNOWLEDGED = 55;

  private static final Set<Fault> LATER_WITH_WORK =
      EnumSet.of(
          Fault.KILL9,
          Fault.KILL_ALL,
          Fault.LEADER_KILL,
          Fault.PAUSE_LONG,
          Fault.LEADER_PAUSE,
          Fault.TERM);

  private final Load load;
  private final Recorder recorder;
  private final Faults faults;
  private final AtomicInteger ids = new AtomicInteger();
  private final AtomicInteger underWay = new AtomicInteger();

  public Nemesis(Cluster cluster, Load load) {
    this.load = load;
    this.recorder = cluster.recorder();
    this.faults = new Faults(cluster);
  }

  /** Faults that hold now. */
  int underWay() {
    return underWay.get();
  }

  /** Returns when the time is over and every fault has ended. */
  public void run(List<Strike> plan, Duration length) throws InterruptedException {
    long start = System.nanoTime();
    List<Thread> strikes = new ArrayList<>();
    try {
      for (Strike strike : plan) {
        sleepUntil(start + strike.at().toNanos());
        strikes.add(Watched.start(recorder, strike.fault().label(), () -> strike(strike)));
      }
      sleepUntil(start + length.toNanos());
    } finally {
      strikes.forEach(Thread::interrupt); // each undoes what it did
    }
    for (Thread strike : strikes) {
      strike.join();
    }
  }

  private static void sleepUntil(long nanos) throws InterruptedException {
    long wait = nanos - System.nanoTime();
    if (wait > 0) {
      Thread.sleep(Duration.ofNanos(wait));
    }
  }

  private void strike(Strike strike) {
    Fault fault = strike.fault();
    int id = ids.incrementAndGet();
    Optional<Node> victim = faults.victim(strike);
    Fields fields = Fields.of("fault", fault.label()).and("id", id);
    if (victim.isEmpty() && Faults.needsNode(fault)) {
      recorder.event("fault-skipped", fields);
      return;
    }
    underWay.incrementAndGet();
    AtomicLong effect = new AtomicLong();
    try {
      recorder.event(
          "fault-start",
          fields
              .and("node", victim.map(Node::label).orElse(null))
              .and("millis", strike.length().toMillis())
              .and("inFlight", awaitInFlight(fault, victim))
              .and("acknowledged", awaitAcknowledged(fault)));
      faults.strike(strike, victim, effect);
    } catch (InterruptedException _) {
      // The time is over: what it did is undone.
    } catch (IOException | SQLException | RuntimeException | Error e) {
      recorder.event("fault-failed", fields.and("error", String.valueOf(e)));
    } finally {
      underWay.decrementAndGet();
      recorder.event("fault-end", fields.and(effect(fault, effect.get())));
    }
  }

  /** What those did of which one cannot say beforehand whether they do anything. */
  private static Fields effect(Fault fault, long effect) {
    return switch (fault) {
      case AMBIGUOUS_COMMIT -> Fields.of("cuts", effect);
      case BACKEND_KILL_CLAIM, BACKEND_KILL_IDLE, LEADER_BACKEND_KILL -> Fields.of("ended", effect);
      default -> Fields.none();
    };
  }

  /** For what only counts if something was under way. */
  private @Nullable Long awaitInFlight(Fault fault, Optional<Node> victim)
      throws InterruptedException {
    if (!LATER_WITH_WORK.contains(fault)) {
      return null;
    }
    long end = System.nanoTime() + PATIENCE.toNanos();
    long inFlight = faults.inFlight(victim);
    while (inFlight == 0 && System.nanoTime() - end < 0) {
      Thread.sleep(40);
      inFlight = faults.inFlight(victim);
    }
    return inFlight;
  }

  private @Nullable Long awaitAcknowledged(Fault fault) throws InterruptedException {
    if (fault != Fault.PG_CRASH) {
      return null;
    }
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (load.acknowledgedLately() < ENOUGH_ACKNOWLEDGED && System.nanoTime() - end < 0) {
      Thread.sleep(40);
    }
    return load.acknowledgedLately();
  }
}
