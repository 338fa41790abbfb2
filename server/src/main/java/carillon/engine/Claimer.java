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
import carillon.store.queue.WorkQueue.Claim;
import carillon.store.queue.WorkQueue.Claimant;
import carillon.store.queue.WorkQueue.Quota;
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
import java.util.function.Consumer;
import java.util.function.IntPredicate;
import java.util.function.Supplier;

/** Moves due tasks from the table into this node, never more than it has seats for. */
final class Claimer {

  static final int MAX_BATCH = 2_000;

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

  // Used by the claimer's own thread only.
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
      return Pass.skipped(IDLE);
    }
    Duration gathering = gatheringTime();
    if (gathering.isPositive()) {
      return Pass.skipped(gathering);
    }
    boolean hasAsked = claimFrom(takeDue(store.clock().instant(), this::isOwn), lease);
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

  private int freeSeats() {
    return Math.min(MAX_BATCH, seats.free());
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
    return claimFrom(takeDue(store.clock().instant().minus(HELP_AFTER), this::isOthers), lease);
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
   * @param forConsumer held by a broker's consumer, which reports the outcome, not by this node
   */
  private record Terms(Partition partition, boolean forConsumer) {
    static final Comparator<Terms> OLDEST_FIRST =
        Comparator.comparing(Terms::partition).thenComparing(Terms::forConsumer);
  }

  /** Shares the free seats among the due lanes. Lanes without a share wait for the next pass. */
  private List<Batch> shareSeats(List<DueLane> due) {
    Map<DueLane, Integer> shares = Quotas.share(due, freeSeats(), store.clock().instant());
    TaskStarter.LaneLimit limit = starter.limitForPass();
    Map<Terms, List<Quota>> quotas = new TreeMap<>(Terms.OLDEST_FIRST);
    for (DueLane line : due) {
      Lane lane = line.lane();
      int tasks = limit.cap(lane, shares.getOrDefault(line, 0));
      if (tasks > 0) {
        Duration lease = starter.consumerLease(lane);
        quotas
            .computeIfAbsent(new Terms(line.partition(), lease != null), _ -> new ArrayList<>())
            .add(new Quota(lane, tasks, line.from(), lease));
      } else {
        store.agenda().putBack(line.partition(), lane.id(), line.from());
      }
    }
    List<Batch> batches = new ArrayList<>();
    quotas.forEach((terms, some) -> batches.add(new Batch(terms, some)));
    return batches;
  }

  // ---- Stages 3 and 4: claim, then start ----

  /** Returns whether the database was asked for tasks and answered. */
  private boolean claimFrom(List<DueLane> due, NodeLease lease) {
    List<Batch> failed = new ArrayList<>();
    Throwable failure = null;
    boolean hasAsked = false;
    boolean claimedAny = false;
    for (Batch batch : shareSeats(due)) {
      hooks.onProgress().run();
      if (!starter.isReady()) { // the batches before this one may have filled it
        putBack(batch);
        continue;
      }
      try {
        claimedAny |= claimBatch(batch, lease);
        hasAsked = true;
      } catch (RuntimeException | Error e) { // a partition that fails must not stop the others
        failure = e;
        failed.add(batch);
      }
    }
    if (failure != null) {
      failed.forEach(claimedAny ? this::putBackAndWake : this::putBack);
      throwUnchecked(failure);
    }
    return hasAsked;
  }

  private static void throwUnchecked(Throwable failure) {
    switch (failure) {
      case Error e -> throw e;
      case RuntimeException e -> throw e;
      default -> throw new IllegalStateException(failure);
    }
  }

  /** Returns whether it claimed anything. */
  private boolean claimBatch(Batch batch, NodeLease lease) {
    lastClaimAt = System.nanoTime();
    UUID id = UUID.randomUUID();
    openClaims.requested(id);
    try {
      Claim claim =
          store.queue().claimDue(batch.partition(), batch.quotas(), claimant(id, batch, lease));
      claim.next().forEach((lane, at) -> store.agenda().putBack(batch.partition(), lane, at));
      updateHelpBackoff(batch, claim);
      if (claim.tasks().isEmpty()) {
        return false;
      }
      seats.take(claim.tasks().size());
      openClaims.opened(id, claim.tasks().size(), seats);
      start(id, claim.tasks(), lease.node());
      return true;
    } finally {
      // If the answer was lost, the claim may be committed all the same. It is unknown here from
      // now on, so LostClaims finds it and gives its tasks back.
      openClaims.answered(id);
    }
  }

  private Claimant claimant(UUID id, Batch batch, NodeLease lease) {
    return starter.claimant(id, lease.node(), batch.terms().forConsumer());
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

  /** Backs off from other nodes' lanes whose claim was empty. */
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
      } else {
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
