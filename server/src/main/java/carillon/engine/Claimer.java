package carillon.engine;

import carillon.model.ClaimedTask;
import carillon.model.Lane;
import carillon.model.NodeLease;
import carillon.model.Pass;
import carillon.model.Quotas;
import carillon.model.Slot;
import carillon.store.Agenda;
import carillon.store.Catalog;
import carillon.store.DbClock;
import carillon.store.WorkQueue;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Moves due tasks from the table into this node, never more than it has room to run.
 *
 * <p>One or two loops run its passes. One of them looks for what is due; as soon as it knows what a
 * small claim took, the other one looks while this one waits for the commit. On a disk that is slow
 * to answer now and then, that wait would be the lateness of whatever comes due meanwhile.
 */
final class Claimer {

  /** How long to wait when nothing is known to be due; whoever finds something wakes us. */
  private static final Duration IDLE = Duration.ofSeconds(1);

  /**
   * What waits for so long in a lane of another node is anybody's. Longer than that node may take
   * to find it by its sweep.
   */
  static final Duration HELP_AFTER = Duration.ofSeconds(2);

  static final int MAX_BATCH = 2_000;

  /**
   * While most seats are taken, claims keep this distance: each takes what has come free meanwhile,
   * where one after the other would take a few tasks each for the price of many.
   */
  private static final Duration GATHERING = Duration.ofMillis(3);

  /** A larger claim keeps the database busy by itself, and its commit is a small part of it. */
  static final int MAX_HANDED_OVER = 64;

  private final WorkQueue queue;
  private final Catalog catalog;
  private final Agenda agenda;
  private final DbClock clock;
  private final Supplier<NodeLease> node;
  private final Seats seats;
  private final Lanes lanes;
  private final Start start;
  private final Completer completer;
  private final Consumer<EngineEvent> events;
  private volatile Runnable whenMoved = () -> {};
  private volatile Runnable whenHandedOver = () -> {};

  /** Whoever looks for what is due has it, for a pass or until it hands over. */
  private final Semaphore looking = new Semaphore(1);

  // Both of whoever is looking.
  private final LeftAlone leftAlone = new LeftAlone(System::nanoTime);
  private long claimedAt = System.nanoTime() - GATHERING.toNanos();

  /** Runs what was claimed under this node's id; every task ends at the completer. */
  interface Start {

    /** Starts all of them. If it throws, the whole claim is given up, with what was started. */
    void start(List<ClaimedTask> tasks, String node);

    /** Whether tasks only end here, and go nowhere. */
    default boolean isOnlyToKeep() {
      return false;
    }

    /** How many tasks that a node may have died of can be taken at the moment. */
    default int roomForSuspects() {
      return Integer.MAX_VALUE;
    }

    /** Whether anything can be started at the moment; who says no wakes us later. */
    default boolean isReady() {
      return true;
    }

    /** For one pass: what its lanes may release beside what the seats allow. */
    default Limit limit() {
      return (_, share) -> share;
    }

    /** How long each task of a lane is held for somebody who reports; null if by this node. */
    default @Nullable Duration leaseOf(Lane lane) {
      return null;
    }

    /** Who holds what somebody else will report. */
    default String holder(String node) {
      return node;
    }
  }

  /** How much of its share of the seats a lane may have. */
  interface Limit {
    int of(Lane lane, int share);
  }

  /**
   * What is claimed with one statement.
   *
   * @param reported held for somebody who reports, and not by this node
   */
  private record Part(Slot slot, boolean reported) implements Comparable<Part> {

    @Override
    public int compareTo(Part other) {
      int bySlot = slot.compareTo(other.slot);
      return bySlot == 0 ? Boolean.compare(reported, other.reported) : bySlot;
    }
  }

  /**
   * Which of the lanes that are pushed a claimer claims from.
   *
   * @param own those that this node looks after
   * @param others those that it helps with
   */
  record Lanes(IntPredicate own, IntPredicate others) {

    static final Lanes ALL = new Lanes(_ -> true, _ -> false);
  }

  /**
   * @param seats that nobody else takes
   */
  Claimer(
      WorkQueue queue,
      Catalog catalog,
      Agenda agenda,
      DbClock clock,
      Supplier<NodeLease> node,
      Seats seats,
      Lanes lanes,
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

  /** Asks to be told, within a pass, that it gets on. */
  void whenMoved(Runnable action) {
    this.whenMoved = action;
  }

  /** Asks to be told when another loop may look for what is due. */
  void whenHandedOver(Runnable action) {
    this.whenHandedOver = action;
  }

  /** The time in which a pass looks for what is due, and nobody else does. */
  private final class Turn {
    private boolean isOver; // these two of the pass's thread only
    private boolean hasAsked;

    /** Whether the database was asked for tasks, and answered. */
    boolean hasAsked() {
      return hasAsked;
    }

    void asked() {
      hasAsked = true;
    }

    boolean isOver() {
      return isOver;
    }

    void end() {
      if (!isOver) {
        isOver = true;
        looking.release();
      }
    }
  }

  /** One pass; its delay is how long nothing is known to be due. */
  Pass claimOnce() {
    if (!looking.tryAcquire()) {
      return Pass.skipped(IDLE); // the other loop looks, and wakes us if it hands over
    }
    Turn turn = new Turn();
    try {
      Duration wait = claim(turn);
      return new Pass(wait, turn.hasAsked());
    } finally {
      turn.end();
    }
  }

  private Duration claim(Turn turn) {
    NodeLease lease = node.get();
    if (room() == 0 || !lease.isTrusted(System.nanoTime()) || !start.isReady()) {
      // A seat that is given back wakes us. And while our lease may have lapsed, what we claimed
      // could be taken back at once.
      return IDLE;
    }
    Duration early = GATHERING.minusNanos(System.nanoTime() - claimedAt);
    if (!seats.isWorthwhile() && early.isPositive()) {
      return early;
    }
    claim(agenda.takeDue(clock.instant(), this::isOwn), lease, turn);
    Duration wait = until(agenda.earliest(this::isOwn));
    return wait.isPositive() && seats.isWorthwhile() && !turn.isOver()
        ? help(wait, lease, turn)
        : wait;
  }

  /**
   * Takes what others have left waiting, when there is nothing to do and room to do it: so a lane
   * that is too much for one node gets the seats of all, and a node that is gone costs two seconds.
   */
  private Duration help(Duration wait, NodeLease lease, Turn turn) {
    claim(agenda.takeDue(clock.instant().minus(HELP_AFTER), this::isOthers), lease, turn);
    if (turn.isOver()) {
      return wait; // the other loop knows the rest
    }
    Instant left = seats.isWorthwhile() ? agenda.earliest(this::isOthers) : null;
    Duration untilLate = left == null ? wait : until(left).plus(HELP_AFTER);
    return untilLate.compareTo(wait) < 0 ? untilLate : wait;
  }

  private void claim(List<Agenda.Entry> entries, NodeLease lease, Turn turn) {
    Throwable failure = null;
    Map<Part, List<WorkQueue.Quota>> failed = new TreeMap<>();
    boolean gotSome = false;
    Map<Part, List<WorkQueue.Quota>> parts = quotas(entries);
    int left = parts.size();
    for (Map.Entry<Part, List<WorkQueue.Quota>> part : parts.entrySet()) {
      boolean isLast = --left == 0;
      whenMoved.run();
      if (!start.isReady()) { // what was claimed before may have been as much as it can hold
        putBack(part.getKey().slot(), part.getValue());
        continue;
      }
      try {
        gotSome |= claim(part.getKey(), part.getValue(), lease, isLast ? turn : null);
        turn.asked();
      } catch (RuntimeException | Error e) {
        failure = e; // one slot that cannot be claimed from must not stop the others
        failed.put(part.getKey(), part.getValue());
      }
    }
    if (failure != null) {
      boolean isToGoOn = gotSome;
      failed.forEach((part, quotas) -> afterFailure(part.slot(), quotas, isToGoOn));
      throwUnchecked(failure);
    }
  }

  private static void throwUnchecked(Throwable failure) {
    switch (failure) {
      case Error e -> throw e;
      case RuntimeException e -> throw e;
      default -> throw new IllegalStateException(failure);
    }
  }

  /** A pass that got nothing is a reason to rest; one that got some wakes us to go on at once. */
  private void afterFailure(Slot slot, List<WorkQueue.Quota> quotas, boolean isToGoOn) {
    if (isToGoOn) {
      quotas.forEach(quota -> agenda.found(slot, quota.lane().id(), quota.from()));
    } else {
      putBack(slot, quotas);
    }
  }

  private int room() {
    return Math.min(MAX_BATCH, seats.free());
  }

  /** Shares the seats among all lanes of all slots that have something due. */
  private Map<Part, List<WorkQueue.Quota>> quotas(List<Agenda.Entry> entries) {
    Instant now = clock.instant();
    List<Quotas.Line> due = new ArrayList<>(entries.size());
    for (Agenda.Entry entry : entries) {
      due.add(new Quotas.Line(entry.slot(), catalog.lane(entry.lane()), entry.from()));
    }
    Map<Quotas.Line, Integer> shares = Quotas.share(due, room(), now);
    Map<Part, List<WorkQueue.Quota>> quotas = new TreeMap<>();
    Limit limit = start.limit();
    for (Quotas.Line line : due) {
      int share = limit.of(line.lane(), shares.getOrDefault(line, 0));
      if (share > 0) {
        Duration held = start.leaseOf(line.lane());
        quotas
            .computeIfAbsent(new Part(line.slot(), held != null), _ -> new ArrayList<>())
            .add(new WorkQueue.Quota(line.lane(), share, line.from(), held));
      } else {
        agenda.putBack(line.slot(), line.lane().id(), line.from()); // next time
      }
    }
    return quotas;
  }

  /**
   * Whether there was anything.
   *
   * @param turn to be handed over; null if this pass claims more
   */
  private boolean claim(
      Part part, List<WorkQueue.Quota> quotas, NodeLease lease, @Nullable Turn turn) {
    claimedAt = System.nanoTime();
    UUID id = UUID.randomUUID();
    Handover handover = new Handover(part.slot(), quotas, turn);
    completer.claiming(id);
    try {
      WorkQueue.Claim claim = claim(part, quotas, lease.node(), id, handover);
      handover.goOn(claim);
      if (!claim.tasks().isEmpty()) {
        handover.expect(id, claim.tasks().size());
        begin(id, claim.tasks(), lease.node());
      }
      return !claim.tasks().isEmpty();
    } finally {
      handover.leave();
      // If the answer was lost the claim may exist all the same: it is then found that we know
      // nothing of it.
      completer.claimed(id);
    }
  }

  private void begin(UUID claim, List<ClaimedTask> tasks, String node) {
    try {
      events.accept(new EngineEvent.Claimed(tasks));
      start.start(tasks, node);
    } catch (RuntimeException | Error e) {
      completer.abandon(claim); // it is committed: whatever happens, its tasks must come back
      throw e;
    }
  }

  /** What a claim leaves to the next one, before its commit or after it. */
  private final class Handover implements Consumer<WorkQueue.Claim> {
    private final Slot slot;
    private final List<WorkQueue.Quota> quotas;
    private final @Nullable Turn turn;
    private boolean isDone;
    private int seated; // that nobody knows of yet

    Handover(Slot slot, List<WorkQueue.Quota> quotas, @Nullable Turn turn) {
      this.slot = slot;
      this.quotas = quotas;
      this.turn = turn;
    }

    /** Before the commit. Who looks from now on must find the seats taken and the lanes noted. */
    @Override
    public void accept(WorkQueue.Claim claim) {
      if (turn != null && !turn.isOver() && isToBeHandedOver(claim)) {
        seated = claim.tasks().size();
        seats.take(seated);
        goOn(claim);
        turn.end();
        whenHandedOver.run();
      }
    }

    private boolean isToBeHandedOver(WorkQueue.Claim claim) {
      int took = claim.tasks().size();
      return took > 0
          && took <= MAX_HANDED_OVER
          // Nobody must take another suspect before it is known that these were taken.
          && claim.tasks().stream().noneMatch(ClaimedTask::isSuspect)
          // What had to be left, say for a key, would be looked for in vain until the commit.
          && quotas.stream().noneMatch(quota -> isToBeginAnew(quota, claim));
    }

    private boolean isToBeginAnew(WorkQueue.Quota quota, WorkQueue.Claim claim) {
      return quota.from().equals(claim.next().get(quota.lane().id()));
    }

    /** Notes where the lanes go on, unless that was done. */
    void goOn(WorkQueue.Claim claim) {
      if (!isDone) {
        isDone = true;
        claim.next().forEach((lane, at) -> agenda.putBack(slot, lane, at));
        remember(quotas, claim.tasks());
      }
    }

    void expect(UUID id, int tasks) {
      if (seated > 0) {
        completer.expectSeated(id, tasks, seats);
        seated = 0;
      } else {
        completer.expect(id, tasks, seats);
      }
    }

    /** Gives back the seats of a claim that came to nothing. */
    void leave() {
      if (seated > 0) {
        seats.leave(seated, seated);
        seated = 0;
      }
    }
  }

  private WorkQueue.Claim claim(
      Part part, List<WorkQueue.Quota> quotas, String node, UUID id, Handover handover) {
    if (part.reported()) {
      return queue.claimToReport(part.slot(), quotas, start.holder(node), id);
    }
    return start.isOnlyToKeep()
        ? queue.claimToKeep(part.slot(), quotas, node, id, handover)
        : queue.claimForNode(part.slot(), quotas, node, id, start.roomForSuspects(), handover);
  }

  private void putBack(Slot slot, List<WorkQueue.Quota> quotas) {
    quotas.forEach(quota -> agenda.putBack(slot, quota.lane().id(), quota.from()));
  }

  /** In which lanes of others there was nothing to help with. */
  private void remember(List<WorkQueue.Quota> quotas, List<ClaimedTask> tasks) {
    List<Integer> asked =
        quotas.stream().map(quota -> quota.lane().id()).filter(lanes.others()::test).toList();
    if (asked.isEmpty()) {
      return;
    }
    Set<Integer> gave = new HashSet<>();
    tasks.forEach(task -> gave.add(task.lane()));
    for (int lane : asked) {
      if (gave.contains(lane)) {
        leftAlone.gave(lane);
      } else {
        leftAlone.gaveNothing(lane);
      }
    }
  }

  private boolean isOwn(int lane) {
    return lanes.own().test(lane) && catalog.isPushedNow(lane);
  }

  private boolean isOthers(int lane) {
    return lanes.others().test(lane) && catalog.isPushedNow(lane) && !leftAlone.isSo(lane);
  }

  private Duration until(@Nullable Instant earliest) {
    Duration wait = earliest == null ? IDLE : Duration.between(clock.instant(), earliest);
    return wait.compareTo(IDLE) < 0 ? wait : IDLE;
  }
}
