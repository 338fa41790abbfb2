package carillon.engine;

import carillon.model.ClaimedTask;
import carillon.model.NodeLease;
import carillon.model.Quotas;
import carillon.model.Slot;
import carillon.store.Agenda;
import carillon.store.Catalog;
import carillon.store.DbClock;
import carillon.store.WorkQueue;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Moves due tasks from the table into this node, never more than it has room to run. */
final class Claimer {

  /** Whatever no wake-up told us is found this late at most. */
  private static final Duration SWEEP = Duration.ofSeconds(1);

  /**
   * How far ahead a sweep opens slots, so that what is due at midnight is known before midnight.
   */
  private static final Duration AHEAD = Duration.ofSeconds(5);

  private static final int MAX_BATCH = 2_000;

  private final WorkQueue queue;
  private final Catalog catalog;
  private final Agenda agenda;
  private final DbClock clock;
  private final Supplier<NodeLease> node;
  private final Seats seats;
  private final Dispatcher dispatcher;
  private final Consumer<EngineEvent> events;

  Claimer(
      WorkQueue queue,
      Catalog catalog,
      Agenda agenda,
      DbClock clock,
      Supplier<NodeLease> node,
      Seats seats,
      Dispatcher dispatcher,
      Consumer<EngineEvent> events) {
    this.queue = queue;
    this.catalog = catalog;
    this.agenda = agenda;
    this.clock = clock;
    this.node = node;
    this.seats = seats;
    this.dispatcher = dispatcher;
    this.events = events;
  }

  /** One pass. Returns how long nothing is known to be due. */
  Duration claimOnce() {
    if (agenda.takeKeyFreed()) {
      queue.sweep(clock.instant().plus(AHEAD));
    } else {
      queue.sweepAfter(SWEEP, clock.instant().plus(AHEAD));
    }
    NodeLease lease = node.get();
    if (!lease.isTrusted(System.nanoTime())) {
      return SWEEP; // our lease may have lapsed: what we claimed now could be taken back at once
    }
    int free = Math.min(MAX_BATCH, seats.free());
    if (free == 0) {
      return SWEEP; // a seat that is given back wakes us
    }
    for (Map.Entry<Slot, List<Quotas.Line>> slot : dueBySlot().entrySet()) {
      free -= claim(slot.getKey(), slot.getValue(), free, lease);
    }
    return untilNextDue();
  }

  private Map<Slot, List<Quotas.Line>> dueBySlot() {
    Map<Slot, List<Quotas.Line>> due = new TreeMap<>();
    for (Agenda.Entry entry : agenda.takeDue(clock.instant(), this::isPushed)) {
      due.computeIfAbsent(entry.slot(), _ -> new ArrayList<>())
          .add(new Quotas.Line(catalog.lane(entry.lane()), entry.from()));
    }
    return due;
  }

  private boolean isPushed(int lane) {
    return catalog.isPushedNow(catalog.lane(lane));
  }

  private int claim(Slot slot, List<Quotas.Line> lines, int free, NodeLease lease) {
    List<WorkQueue.Quota> quotas = new ArrayList<>();
    Map<Quotas.Line, Integer> shares = Quotas.share(lines, free, clock.instant());
    for (Quotas.Line line : lines) {
      int share = shares.getOrDefault(line, 0);
      if (share > 0) {
        quotas.add(new WorkQueue.Quota(line.lane(), share, line.from(), null));
      } else {
        agenda.note(slot, line.lane().id(), line.from()); // next time
      }
    }
    if (quotas.isEmpty()) {
      return 0;
    }
    WorkQueue.Claim claim;
    try {
      claim = queue.claimForNode(slot, quotas, lease.node());
    } catch (RuntimeException e) {
      lines.forEach(line -> agenda.note(slot, line.lane().id(), line.from()));
      throw e;
    }
    claim.next().forEach((lane, at) -> agenda.note(slot, lane, at));
    start(claim.tasks());
    return claim.tasks().size();
  }

  private void start(List<ClaimedTask> tasks) {
    if (!tasks.isEmpty()) {
      seats.take(tasks.size());
      events.accept(new EngineEvent.Claimed(tasks));
      dispatcher.start(tasks);
    }
  }

  private Duration untilNextDue() {
    Instant earliest = agenda.earliest(this::isPushed);
    Duration wait = earliest == null ? SWEEP : Duration.between(clock.instant(), earliest);
    return wait.compareTo(SWEEP) < 0 ? wait : SWEEP;
  }
}
