package carillon.engine;

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
import java.util.function.Supplier;

/** Moves due tasks from the table into this node, never more than it has room to run. */
final class Claimer {

  /** How long to wait when nothing is known to be due; whoever finds something wakes us. */
  private static final Duration IDLE = Duration.ofSeconds(1);

  static final int MAX_BATCH = 2_000;

  private final WorkQueue queue;
  private final Catalog catalog;
  private final Agenda agenda;
  private final DbClock clock;
  private final Supplier<NodeLease> node;
  private final Room room;
  private final Dispatcher dispatcher;
  private final Completer completer;
  private final Consumer<EngineEvent> events;

  /**
   * The node's seats. What is only kept and never sent must neither wait for those that are, nor
   * take the seats of deliveries: it needs them for the blink between claim and outcome, in large
   * batches.
   */
  record Room(Seats sent, Seats kept) {}

  Claimer(
      WorkQueue queue,
      Catalog catalog,
      Agenda agenda,
      DbClock clock,
      Supplier<NodeLease> node,
      Room room,
      Dispatcher dispatcher,
      Completer completer,
      Consumer<EngineEvent> events) {
    this.queue = queue;
    this.catalog = catalog;
    this.agenda = agenda;
    this.clock = clock;
    this.node = node;
    this.room = room;
    this.dispatcher = dispatcher;
    this.completer = completer;
    this.events = events;
  }

  /** One pass. Returns how long nothing is known to be due that there is room for. */
  Duration claimOnce() {
    NodeLease lease = node.get();
    if (!lease.isTrusted(System.nanoTime())) {
      return IDLE; // our lease may have lapsed: what we claimed could be taken back at once
    }
    StoreException failure = null;
    for (boolean kept : new boolean[] {false, true}) {
      Seats seats = kept ? room.kept() : room.sent();
      for (Map.Entry<Slot, List<WorkQueue.Quota>> slot : quotas(seats, kept).entrySet()) {
        try {
          claim(slot.getKey(), slot.getValue(), seats, lease);
        } catch (StoreException e) {
          failure = e; // one slot that cannot be claimed from must not stop the others
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
    return untilNextDue();
  }

  /** Shares the seats among all lanes of all slots that have something due. */
  private Map<Slot, List<WorkQueue.Quota>> quotas(Seats seats, boolean kept) {
    int free = Math.min(MAX_BATCH, seats.free());
    if (free == 0) {
      return Map.of(); // a seat that is given back wakes us
    }
    Instant now = clock.instant();
    List<Quotas.Line> due = new ArrayList<>();
    for (Agenda.Entry entry :
        agenda.takeDue(now, lane -> catalog.isPushedNow(lane) && catalog.isKeptNow(lane) == kept)) {
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

  private void claim(Slot slot, List<WorkQueue.Quota> quotas, Seats seats, NodeLease lease) {
    UUID id = UUID.randomUUID();
    completer.claiming(id);
    try {
      WorkQueue.Claim claim = queue.claimForNode(slot, quotas, lease.node(), id);
      claim.next().forEach((lane, at) -> agenda.note(slot, lane, at));
      if (!claim.tasks().isEmpty()) {
        completer.expect(id, claim.tasks().size(), seats);
        events.accept(new EngineEvent.Claimed(claim.tasks()));
        dispatcher.start(claim.tasks(), lease.node());
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

  private Duration untilNextDue() {
    boolean canSend = room.sent().free() > 0;
    boolean canKeep = room.kept().free() > 0;
    Instant earliest =
        agenda.earliest(
            lane -> catalog.isPushedNow(lane) && (catalog.isKeptNow(lane) ? canKeep : canSend));
    Duration wait = earliest == null ? IDLE : Duration.between(clock.instant(), earliest);
    return wait.compareTo(IDLE) < 0 ? wait : IDLE;
  }
}
