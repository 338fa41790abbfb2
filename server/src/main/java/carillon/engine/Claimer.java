package carillon.engine;

import carillon.model.ClaimedTask;
import carillon.model.NodeLease;
import carillon.model.Quotas;
import carillon.model.Slot;
import carillon.store.Agenda;
import carillon.store.Catalog;
import carillon.store.DbClock;
import carillon.store.StoreException;
import carillon.store.WorkQueue;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.IntPredicate;
import java.util.function.Supplier;

/** Moves due tasks from the table into this node, never more than it has room to run. */
final class Claimer {

  /** How long to wait when nothing is known to be due; whoever finds something wakes us. */
  private static final Duration IDLE = Duration.ofSeconds(1);

  static final int MAX_BATCH = 2_000;

  /**
   * While most seats are taken, claims keep this distance: each takes what has come free meanwhile,
   * where one after the other would take a few tasks each for the price of many.
   */
  private static final Duration GATHERING = Duration.ofMillis(3);

  private final WorkQueue queue;
  private final Catalog catalog;
  private final Agenda agenda;
  private final DbClock clock;
  private final Supplier<NodeLease> node;
  private final Seats seats;
  private final IntPredicate lanes;
  private final Start start;
  private final Completer completer;
  private final Consumer<EngineEvent> events;
  private long claimedAt = System.nanoTime() - GATHERING.toNanos(); // of this loop's thread only

  /** Runs what was claimed under this node's id; every task ends at the completer. */
  interface Start {
    void start(List<ClaimedTask> tasks, String node);

    /** How many tasks that a node may have died of can be taken at the moment. */
    default int roomForSuspects() {
      return Integer.MAX_VALUE;
    }
  }

  /**
   * @param seats that nobody else takes
   * @param lanes those among the lanes that are pushed which are this claimer's
   */
  Claimer(
      WorkQueue queue,
      Catalog catalog,
      Agenda agenda,
      DbClock clock,
      Supplier<NodeLease> node,
      Seats seats,
      IntPredicate lanes,
      Start start,
      Completer completer,
      Consumer<EngineEvent> events) {
    this.queue = queue;
    this.catalog = catalog;
    this.agenda = agenda;
    this.clock = clock;
    this.node = node;
    this.seats = seats;
    this.lanes = lanes;
    this.start = start;
    this.completer = completer;
    this.events = events;
  }

  /** One pass. Returns how long nothing is known to be due. */
  Duration claimOnce() {
    NodeLease lease = node.get();
    int free = Math.min(MAX_BATCH, seats.free());
    if (free == 0 || !lease.isTrusted(System.nanoTime())) {
      // A seat that is given back wakes us. And while our lease may have lapsed, what we claimed
      // could be taken back at once.
      return IDLE;
    }
    Duration early = GATHERING.minusNanos(System.nanoTime() - claimedAt);
    if (!seats.isWorthwhile() && early.isPositive()) {
      return early;
    }
    StoreException failure = null;
    for (Map.Entry<Slot, List<WorkQueue.Quota>> slot : quotas(free).entrySet()) {
      try {
        claim(slot.getKey(), slot.getValue(), lease);
      } catch (StoreException e) {
        failure = e; // one slot that cannot be claimed from must not stop the others
      }
    }
    if (failure != null) {
      throw failure;
    }
    return untilNextDue();
  }

  /** Shares the seats among all lanes of all slots that have something due. */
  private Map<Slot, List<WorkQueue.Quota>> quotas(int free) {
    Instant now = clock.instant();
    List<Quotas.Line> due = new ArrayList<>();
    for (Agenda.Entry entry : agenda.takeDue(now, this::isOurs)) {
      due.add(new Quotas.Line(entry.slot(), catalog.lane(entry.lane()), entry.from()));
    }
    Map<Quotas.Line, Integer> shares = Quotas.share(due, free, now);
    Map<Slot, List<WorkQueue.Quota>> quotas = new TreeMap<>();
    for (Quotas.Line line : due) {
      int share = shares.getOrDefault(line, 0);
      if (share > 0) {
        quotas
            .computeIfAbsent(line.slot(), _ -> new ArrayList<>())
            .add(new WorkQueue.Quota(line.lane(), share, line.from(), null));
      } else {
        agenda.note(line.slot(), line.lane().id(), line.from()); // next time
      }
    }
    return quotas;
  }

  private void claim(Slot slot, List<WorkQueue.Quota> quotas, NodeLease lease) {
    claimedAt = System.nanoTime();
    UUID id = UUID.randomUUID();
    completer.claiming(id);
    try {
      WorkQueue.Claim claim =
          queue.claimForNode(slot, quotas, lease.node(), id, start.roomForSuspects());
      claim.next().forEach((lane, at) -> agenda.note(slot, lane, at));
      if (!claim.tasks().isEmpty()) {
        completer.expect(id, claim.tasks().size(), seats);
        events.accept(new EngineEvent.Claimed(claim.tasks()));
        start.start(claim.tasks(), lease.node());
      }
    } catch (StoreException e) {
      quotas.forEach(quota -> agenda.note(slot, quota.lane().id(), quota.from()));
      throw e;
    } finally {
      // If the answer was lost the claim may exist all the same: the reaper then finds that we know
      // nothing of it.
      completer.claimed(id);
    }
  }

  private boolean isOurs(int lane) {
    return catalog.isPushedNow(lane) && lanes.test(lane);
  }

  private Duration untilNextDue() {
    Instant earliest = agenda.earliest(this::isOurs);
    Duration wait = earliest == null ? IDLE : Duration.between(clock.instant(), earliest);
    return wait.compareTo(IDLE) < 0 ? wait : IDLE;
  }
}
