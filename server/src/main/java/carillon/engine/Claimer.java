package carillon.engine;

import carillon.model.Partition;
import carillon.model.Pass;
import carillon.model.cluster.NodeLease;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DueLane;
import carillon.model.task.Lane;
import carillon.model.task.Quotas;
import carillon.store.EngineStore;
import carillon.store.queue.Agenda;
import carillon.store.queue.WorkQueue;
import carillon.store.queue.WorkQueue.Claim;
import carillon.store.queue.WorkQueue.Claimant;
import carillon.store.queue.WorkQueue.Quota;
import carillon.store.tasks.TaskInserts;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Moves due tasks from the table into this node, never more than it has seats for. Most of it runs
 * on the claimer's own thread; {@link #reserve} runs on the threads that create tasks.
 */
final class Claimer implements TaskInserts.ImmediateClaims {

  /** How long to wait while nothing is due. New work wakes the loop. */
  private static final Duration IDLE = Duration.ofSeconds(1);

  /**
   * A task that has been due for this long in another node's lane may be claimed by any node.
   * Longer than the owner needs to find it by its own sweep.
   */
  static final Duration HELP_AFTER = Duration.ofSeconds(2);

  /**
   * While most seats are taken, claims are at least this far apart, so that each one takes the
   * seats that have come free meanwhile. A claim for one seat costs about as much as a large one.
   */
  private static final Duration GATHER_TIME = Duration.ofMillis(3);

  /**
   * Which of the lanes with pushed tasks a claimer serves.
   *
   * @param own lanes that this node owns
   * @param others lanes that it helps with
   */
  record Lanes(IntPredicate own, IntPredicate others) {

    static final Lanes ALL = new Lanes(_ -> true, _ -> false);
  }

  /**
   * What is claimed, how much at once, and what becomes of it.
   *
   * @param seats taken by this claimer alone
   */
  record Workload(Lanes lanes, Seats seats, TaskStarter starter) {}

  /**
   * Callbacks of a claimer.
   *
   * @param onProgress a part of a long pass is done
   */
  record Hooks(Runnable onProgress, Consumer<EngineEvent> events) {}

  private final EngineStore store;
  private final Supplier<NodeLease> node;
  private final Lanes lanes;
  private final Seats seats;
  private final TaskStarter starter;
  private final OpenClaims openClaims;
  private final Hooks hooks;

  /**
   * Whether due tasks of its lanes wait for a seat, or have not been claimed yet. Then new tasks
   * wait, too.
   */
  private volatile boolean isBehind = true;

  // Used by the claimer's own thread only.
  private boolean hasMore = true; // whether the last pass left due tasks in its own lanes
  private final HelpBackoff helpBackoff = new HelpBackoff(System::nanoTime);
  private long lastClaimAt = System.nanoTime() - GATHER_TIME.toNanos();

  Claimer(
      EngineStore store,
      Supplier<NodeLease> node,
      Workload workload,
      OpenClaims openClaims,
      Hooks hooks) {
    this.store = store;
    this.node = node;
    this.lanes = workload.lanes();
    this.seats = workload.seats();
    this.starter = workload.starter();
    this.openClaims = openClaims;
    this.hooks = hooks;
  }

  /** One pass. It waits for as long as nothing is known to be due. */
  Pass claimOnce() {
    NodeLease lease = node.get();
    if (!canClaim(lease)) {
      isBehind = isDue();
      return Pass.skipped(IDLE);
    }
    Duration gathering = gatheringTime();
    if (gathering.isPositive()) {
      isBehind = isDue();
      return Pass.skipped(gathering);
    }
    boolean hasAsked = claimOwn(lease);
    Duration wait = untilFirstOf(this::isOwn);
    if (canHelp(wait)) {
      hasAsked |= helpOthers(lease);
      wait = earlierOf(wait, untilHelp());
    }
    return new Pass(wait, hasAsked);
  }

  /**
   * Without free seats, the next freed seat wakes the loop. Without a trusted lease, other nodes
   * could reclaim its tasks at once.
   */
  private boolean canClaim(NodeLease lease) {
    return freeSeats() > 0 && lease.isTrusted(System.nanoTime()) && starter.isReady();
  }

  private boolean isDue() {
    return !untilFirstOf(this::isOwn).isPositive();
  }

  /**
   * Claims what is due in its own lanes, and sees whether there were seats for all of it. What
   * becomes due meanwhile does not count: as long as there are seats, it only waits for the next
   * pass. If it did count, a steady load would make every pass late for the next, and no new task
   * would start at once again.
   */
  private boolean claimOwn(NodeLease lease) {
    List<DueLane> due = takeDue(store.clock().instant(), this::isOwn);
    boolean hadSeats = false;
    try {
      Round round = claimFrom(due, lease);
      hadSeats = due.isEmpty() || round.hadSeats();
      hasMore = round.hasMore;
      return round.hasAsked;
    } finally {
      isBehind = !hadSeats;
    }
  }

  private int freeSeats() {
    return Math.min(WorkQueue.MAX_TASKS, seats.free());
  }

  /**
   * Takes the seats for a pass. While no lane has more due than it gets, the pass leaves half of
   * them for tasks that start when they are created: without seats these would wait for the next
   * pass, and so would all that come after them.
   */
  private int takeSeats() {
    int free = freeSeats();
    return seats.takeUpTo(hasMore || isBehind ? free : Math.ceilDiv(free, 2));
  }

  private Duration gatheringTime() {
    return seats.hasMinBatch()
        ? Duration.ZERO
        : GATHER_TIME.minusNanos(System.nanoTime() - lastClaimAt);
  }

  // ---- Help: other nodes' lanes, when there is nothing to do here and room to do it ----

  private boolean canHelp(Duration wait) {
    return wait.isPositive() && seats.hasMinBatch();
  }

  /**
   * Claims overdue tasks of other nodes' lanes: a lane that is too much for one node gets the seats
   * of all nodes, and a lost node delays its tasks by two seconds.
   */
  private boolean helpOthers(NodeLease lease) {
    return claimFrom(takeDue(store.clock().instant().minus(HELP_AFTER), this::isOthers), lease)
        .hasAsked;
  }

  private Duration untilHelp() {
    Instant first = seats.hasMinBatch() ? store.agenda().earliest(this::isOthers) : null;
    return first == null ? IDLE : until(first).plus(HELP_AFTER);
  }

  private static Duration earlierOf(Duration a, Duration b) {
    return a.compareTo(b) < 0 ? a : b;
  }

  // ---- Stage 1: due lanes ----

  /**
   * Removes the due lanes from the agenda. The caller must put back every lane that it does not
   * claim from.
   */
  private List<DueLane> takeDue(Instant dueBy, IntPredicate which) {
    List<DueLane> due = new ArrayList<>();
    for (Agenda.Entry entry : store.agenda().takeDue(dueBy, which)) {
      due.add(new DueLane(entry.partition(), store.catalog().lane(entry.lane()), entry.from()));
    }
    return due;
  }

  // ---- Stage 2: shares ----

  /**
   * What one claim statement covers: lanes of one partition whose tasks are claimed on the same
   * terms.
   */
  private record Batch(Terms terms, List<Quota> quotas) {
    Partition partition() {
      return terms.partition();
    }
  }

  /**
   * @param consumerLease how long a broker's consumer holds them, which reports the outcome; null
   *     if this node holds them
   * @param isFull whether the lanes need the full form of the claim, which costs more per task
   */
  private record Terms(Partition partition, @Nullable Duration consumerLease, boolean isFull) {
    static final Comparator<Terms> OLDEST_FIRST =
        Comparator.comparing(Terms::partition)
            .thenComparing(Terms::consumerLease, Comparator.nullsFirst(Comparator.naturalOrder()))
            .thenComparing(Terms::isFull);
  }

  /** Shares the seats among the due lanes. Lanes without a share wait for the next pass. */
  private List<Batch> shareSeats(List<DueLane> due, Round round) {
    Map<DueLane, Integer> shares = Quotas.share(due, round.unused.get(), store.clock().instant());
    TaskStarter.LaneLimit limit = starter.limitForPass();
    Map<Terms, List<Quota>> quotas = new TreeMap<>(Terms.OLDEST_FIRST);
    for (DueLane line : due) {
      Lane lane = line.lane();
      int tasks = limit.cap(lane, shares.getOrDefault(line, 0));
      if (tasks > 0) {
        boolean isFull = store.queue().needsFullClaim(lane.id());
        quotas
            .computeIfAbsent(
                new Terms(line.partition(), starter.consumerLease(lane), isFull),
                _ -> new ArrayList<>())
            .add(new Quota(lane, tasks, line.from()));
      } else {
        store.agenda().putBack(line.partition(), lane.id(), line.from());
        round.hadShares = false;
      }
    }
    List<Batch> batches = new ArrayList<>();
    quotas.forEach((terms, some) -> batches.add(new Batch(terms, some)));
    return batches;
  }

  // ---- Stages 3 and 4: claim, then start ----

  /** What became of the due lanes of a pass, and of the seats that were taken for them. */
  private static final class Round {
    private final AtomicInteger unused;
    private boolean hadShares = true; // for each lane
    private boolean hasAsked; // the database, and got a response
    private boolean hasClaimed;
    private boolean hasMore; // a lane probably has more due than its share

    Round(int seats) {
      this.unused = new AtomicInteger(seats);
    }

    boolean hadSeats() {
      return hadShares && unused.get() > 0;
    }
  }

  private Round claimFrom(List<DueLane> due, NodeLease lease) {
    Round round = new Round(due.isEmpty() ? 0 : takeSeats());
    try {
      claimBatches(shareSeats(due, round), round, lease);
      return round;
    } finally {
      seats.returnUnused(round.unused.get());
    }
  }

  private void claimBatches(List<Batch> batches, Round round, NodeLease lease) {
    List<Batch> failed = new ArrayList<>();
    Throwable failure = null;
    for (Batch batch : batches) {
      hooks.onProgress().run();
      if (!starter.isReady()) { // the batches before this one may have filled it
        putBack(batch);
        continue;
      }
      try {
        claimBatch(batch, round, lease);
        round.hasAsked = true;
      } catch (RuntimeException | Error e) { // a partition that fails must not stop the others
        failure = e;
        failed.add(batch);
      }
    }
    if (failure != null) {
      failed.forEach(round.hasClaimed ? this::putBackAndWake : this::putBack);
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

  private void claimBatch(Batch batch, Round round, NodeLease lease) {
    lastClaimAt = System.nanoTime();
    UUID id = UUID.randomUUID();
    openClaims.requested(id);
    try {
      Claim claim =
          store.queue().claimDue(batch.partition(), batch.quotas(), claimant(id, batch, lease));
      claim.next().forEach((lane, at) -> store.agenda().putBack(batch.partition(), lane, at));
      updateHelpBackoff(batch, claim);
      round.hasMore |= claim.hasMore();
      if (!claim.tasks().isEmpty()) {
        open(id, claim.tasks(), round.unused);
        start(id, claim.tasks(), lease.node());
        round.hasClaimed = true;
      }
    } finally {
      // If the response was lost, the claim may still be committed. This node no longer knows it,
      // so LostClaims finds it and reclaims its tasks.
      openClaims.answered(id);
    }
  }

  private Claimant claimant(UUID id, Batch batch, NodeLease lease) {
    return starter.claimant(id, lease.node(), batch.terms().consumerLease());
  }

  private void open(UUID claim, List<ClaimedTask> tasks, AtomicInteger unused) {
    if (unused.addAndGet(-tasks.size()) < 0) {
      throw new IllegalStateException("more was claimed than there were seats");
    }
    openClaims.opened(claim, tasks.size(), seats);
  }

  private void start(UUID claim, List<ClaimedTask> tasks, String nodeId) {
    try {
      hooks.events().accept(new EngineEvent.Claimed(tasks));
      starter.start(tasks, nodeId);
    } catch (RuntimeException | Error e) {
      openClaims.abandon(claim); // it is committed: whatever happens, its tasks must come back
      throw e;
    }
  }

  // ---- Immediate starts ----

  /**
   * Takes seats for new tasks in lanes of this claimer, which will be claimed in the transaction
   * that creates them. Only in lanes where nothing is known to wait, and while the claimer keeps up
   * with all of its lanes: otherwise new tasks would be ahead of those that wait, here or for a
   * seat. Runs on the thread that creates the tasks.
   */
  @Override
  public List<TaskInserts.ImmediateClaim> reserve(Map<Lane, Integer> tasks) {
    NodeLease lease = node.get();
    if (isBehind || !starter.startsImmediately() || !lease.isTrusted(System.nanoTime())) {
      return List.of();
    }
    Instant now = store.clock().instant();
    Set<Lane> started = new HashSet<>();
    int taken = 0;
    for (Map.Entry<Lane, Integer> wanted : tasks.entrySet()) {
      Lane lane = wanted.getKey();
      boolean isIdle = isOwn(lane.id()) && !store.agenda().isDue(lane.id(), now);
      if (isIdle && seats.tryTake(wanted.getValue())) {
        started.add(lane);
        taken += wanted.getValue();
      }
    }
    return started.isEmpty() ? List.of() : List.of(new ReservedClaim(lease.node(), started, taken));
  }

  /** A claim that is made together with its tasks. */
  private final class ReservedClaim implements TaskInserts.ImmediateClaim {
    private final UUID id = UUID.randomUUID();
    private final String nodeId;
    private final Set<Lane> lanes;
    private final AtomicInteger unused;

    ReservedClaim(String nodeId, Set<Lane> lanes, int seats) {
      this.nodeId = nodeId;
      this.lanes = lanes;
      this.unused = new AtomicInteger(seats);
      openClaims.requested(id);
    }

    @Override
    public UUID id() {
      return id;
    }

    @Override
    public String node() {
      return nodeId;
    }

    @Override
    public Set<Lane> lanes() {
      return lanes;
    }

    @Override
    public void created(List<ClaimedTask> tasks) {
      try {
        if (!tasks.isEmpty()) {
          open(id, tasks, unused);
          Claimer.this.start(id, tasks, nodeId);
          hooks.events().accept(new EngineEvent.StartedImmediately(tasks.size()));
        }
      } catch (RuntimeException | Error e) {
        // A failed pass is repeated by its loop. Here, only this signal makes the claimer notice
        // the freed seats.
        seats.wake();
        throw e;
      } finally {
        close();
      }
    }

    /** If the claim is committed nevertheless, {@link LostClaims} reclaims its tasks. */
    @Override
    public void failed() {
      close();
    }

    private void close() {
      seats.returnUnusedAndWake(unused.getAndSet(0));
      openClaims.answered(id);
    }
  }

  /**
   * Backs off from other nodes' lanes whose claim was empty. A lane that needs the full form of the
   * claim gets it in the next pass.
   */
  private void updateHelpBackoff(Batch batch, Claim claim) {
    List<Integer> others =
        batch.quotas().stream()
            .map(quota -> quota.lane().id())
            .filter(lanes.others()::test)
            .toList();
    if (others.isEmpty()) {
      return;
    }
    Set<Integer> claimedFrom = new HashSet<>();
    claim.tasks().forEach(task -> claimedFrom.add(task.lane()));
    for (int lane : others) {
      if (claimedFrom.contains(lane)) {
        helpBackoff.reset(lane);
      } else if (!claim.needsFullClaim().contains(lane)) {
        helpBackoff.extend(lane);
      }
    }
  }

  // ---- Agenda ----

  /** Does not wake the claimer, which waits after a failed pass or has just read these lanes. */
  private void putBack(Batch batch) {
    for (Quota quota : batch.quotas()) {
      store.agenda().putBack(batch.partition(), quota.lane().id(), quota.from());
    }
  }

  /** Wakes the claimer: other partitions work, so it must not wait out the delay of a failure. */
  private void putBackAndWake(Batch batch) {
    for (Quota quota : batch.quotas()) {
      store.agenda().found(batch.partition(), quota.lane().id(), quota.from());
    }
  }

  private boolean isOwn(int lane) {
    return lanes.own().test(lane) && store.catalog().isPushedNow(lane);
  }

  private boolean isOthers(int lane) {
    return lanes.others().test(lane)
        && store.catalog().isPushedNow(lane)
        && !helpBackoff.isActive(lane);
  }

  private Duration untilFirstOf(IntPredicate which) {
    Instant first = store.agenda().earliest(which);
    return first == null ? IDLE : until(first);
  }

  private Duration until(Instant first) {
    Duration wait = Duration.between(store.clock().instant(), first);
    return wait.compareTo(IDLE) < 0 ? wait : IDLE;
  }
}
