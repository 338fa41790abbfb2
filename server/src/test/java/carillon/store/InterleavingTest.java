package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Lane;
import carillon.model.task.Lease;
import carillon.model.task.Outcome;
import carillon.model.task.Route;
import carillon.model.task.TaskState;
import carillon.store.db.Tx;
import carillon.store.queue.Expiry;
import carillon.store.queue.HeldClaims;
import carillon.store.queue.PullQueue;
import carillon.store.queue.WorkQueue;
import carillon.store.queue.WorkReport;
import carillon.store.tasks.TaskFilter;
import carillon.store.tasks.TaskPatch;
import carillon.store.tasks.TaskStory;
import carillon.store.tasks.TaskView;
import carillon.testkit.Overlapping;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Runs the steps that can happen to one task in every order and compares the database with a small
 * model: orders of six steps in sequence, and all pairs in which the second step starts while the
 * first one is uncommitted. Reports, renewals and releases come from the "old" holder, whose claim
 * was made before the steps begin; a claim makes a new holder.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("slow")
class InterleavingTest {

  private static final String EDITED = "{\"edited\": true}";

  enum Step {
    CLAIM,
    FINISH,
    FINISH_WITH_OUTPUT,
    RENEW,
    RELEASE,
    RETRY,
    REAP,
    CANCEL,
    CANCEL_MATCHING,
    CANCEL_IN_SQL,
    APPLY_CANCEL_REQUESTS,
    EDIT_PAYLOAD,
    POSTPONE,
    RUN_NOW,
    EXPIRE
  }

  /** The situation of the task before the first step. */
  enum Start {
    WAITING,
    WAITING_TOO_LATE,
    HELD,
    HELD_TOO_LATE,
    HELD_AND_CANCELLED_IN_SQL,
    LAPSED,
    LAPSED_AND_CANCEL_REQUESTED;

    boolean isWaiting() {
      return this == WAITING || this == WAITING_TOO_LATE;
    }

    boolean isLapsed() {
      return this == LAPSED || this == LAPSED_AND_CANCEL_REQUESTED;
    }

    /** Whether the task expires, unless an attempt counts. */
    boolean isTooLate() {
      return this == WAITING_TOO_LATE || this == HELD_TOO_LATE;
    }
  }

  /** The expected task, and how each step changes it. */
  private static final class Model {

    private TaskState state = TaskState.PENDING;
    private boolean heldByOld;
    private boolean lapsed;
    private boolean cancelRequested;
    private boolean cancelRequestedInSql;
    private boolean ready = true;
    private boolean tooLate;
    private int fence;
    private int attempt;
    private int version = 1;
    private String payload = "{}";

    Model(Start start) {
      tooLate = start.isTooLate();
      if (!start.isWaiting()) {
        begin();
        heldByOld = true;
      }
      lapsed = start.isLapsed();
      cancelRequestedInSql = start == Start.HELD_AND_CANCELLED_IN_SQL;
      if (start == Start.LAPSED_AND_CANCEL_REQUESTED) {
        requestCancel();
      }
    }

    private Model(Model other) {
      state = other.state;
      heldByOld = other.heldByOld;
      lapsed = other.lapsed;
      cancelRequested = other.cancelRequested;
      cancelRequestedInSql = other.cancelRequestedInSql;
      ready = other.ready;
      tooLate = other.tooLate;
      fence = other.fence;
      attempt = other.attempt;
      version = other.version;
      payload = other.payload;
    }

    Model after(Step step) {
      Model next = new Model(this);
      next.apply(step);
      return next;
    }

    /** After the leader has applied the cancels that were requested in SQL. */
    Model afterCancelRequests() {
      return after(Step.APPLY_CANCEL_REQUESTS);
    }

    private void apply(Step step) {
      boolean waits = state == TaskState.PENDING;
      boolean expired = tooLate && attempt == 0;
      switch (step) {
        case CLAIM -> runIf(waits && ready && !expired, this::begin);
        case FINISH, FINISH_WITH_OUTPUT -> runIf(heldByOld, () -> end(TaskState.COMPLETED));
        case RENEW -> lapsed &= !heldByOld;
        case RELEASE -> runIf(heldByOld, this::release);
        case RETRY -> runIf(heldByOld, () -> retry(false));
        case REAP -> runIf(lapsed, () -> retry(true));
        case CANCEL, CANCEL_MATCHING -> cancel();
        case CANCEL_IN_SQL -> {
          cancelRequestedInSql |= state == TaskState.RUNNING;
          runIf(waits, () -> end(TaskState.CANCELLED));
        }
        case APPLY_CANCEL_REQUESTS -> {
          runIf(cancelRequestedInSql, this::cancel);
          cancelRequestedInSql = false;
        }
        case EDIT_PAYLOAD -> runIf(waits, () -> edit(EDITED, ready));
        case POSTPONE -> {
          tooLate &= !waits;
          runIf(waits, () -> edit(payload, false));
        }
        case RUN_NOW -> runIf(waits, () -> edit(payload, true));
        case EXPIRE -> runIf(waits && expired, () -> end(TaskState.EXPIRED));
      }
    }

    private static void runIf(boolean condition, Runnable change) {
      if (condition) {
        change.run();
      }
    }

    private void begin() {
      state = TaskState.RUNNING;
      fence++;
      attempt++;
      version++;
    }

    private void release() {
      attempt--;
      retry(true);
    }

    private void retry(boolean nextIsReady) {
      end(cancelRequested ? TaskState.CANCELLED : TaskState.PENDING);
      ready = nextIsReady;
    }

    private void end(TaskState next) {
      state = next;
      heldByOld = false;
      lapsed = false;
      version++;
    }

    private void cancel() {
      if (state == TaskState.RUNNING) {
        requestCancel();
      } else if (state == TaskState.PENDING) {
        end(TaskState.CANCELLED);
      }
    }

    private void requestCancel() {
      version += cancelRequested ? 0 : 1;
      cancelRequested = true;
    }

    private void edit(String newPayload, boolean isReady) {
      payload = newPayload;
      ready = isReady;
      version++;
    }

    /** The part that a user sees. */
    String visible() {
      return visible(state, fence, attempt, version, payload, cancelRequested, ready);
    }

    static String visible(
        TaskState state,
        int fence,
        int attempt,
        int version,
        @Nullable String payload,
        boolean cancelRequested,
        boolean ready) {
      return "%s fence=%d attempt=%d version=%d payload=%s"
              .formatted(state, fence, attempt, version, payload)
          + (state.isLive() ? " cancelRequested=" + cancelRequested : "")
          + (state == TaskState.PENDING ? " ready=" + ready : "");
    }
  }

  private World world;
  private Overlapping overlapping;

  @BeforeAll
  void open() {
    world = World.create();
    overlapping = new Overlapping(world);
  }

  @AfterAll
  void close() {
    overlapping.close();
    world.close();
  }

  /**
   * The only task in the database.
   *
   * @param old the lease of the old holder, if there is one
   * @param claimed what the last claim among the steps has returned
   */
  private record Subject(TaskId id, Lane lane, @Nullable Lease old, List<ClaimedTask> claimed) {}

  private Subject subject(Start start) {
    return subject(start, null);
  }

  private Subject subject(Start start, @Nullable String concurrencyKey) {
    world.sql(
        """
        DELETE FROM carillon.task;
        DELETE FROM carillon.queue;
        DELETE FROM carillon.claim;
        DELETE FROM carillon.running_key;
        DELETE FROM carillon.cancel_request
        """);
    TaskId id =
        world.create(
            TestTask.of("t")
                .key("k")
                .concurrencyKey(concurrencyKey)
                .payload("{}")
                .target(new Target.Pull())
                .build());
    Lane lane = world.catalog.laneFor(World.TENANT, "t", 5, 0, Route.PULL);
    makeReady(start);
    if (start.isWaiting()) {
      return new Subject(id, lane, null, new ArrayList<>());
    }
    world.db.inTransaction(tx -> claim(tx, id, lane)); // may only notice the concurrency key
    if (world.state(id) == TaskState.PENDING) {
      world.db.inTransaction(tx -> claim(tx, id, lane));
    }
    Lease old = new Lease(1, UUID.fromString(world.value("SELECT id FROM carillon.claim")));
    if (start.isTooLate()) {
      world.sql(
          """
          UPDATE carillon.task
          SET expires_at = now() - interval '1 s'
          WHERE id NOT IN (SELECT id FROM carillon.queue)
          """);
    }
    if (start.isLapsed()) {
      world.sql(
          """
          UPDATE carillon.claim
          SET lease_until = now() - interval '1 s',
              check_at = now() - interval '1 s'
          """);
    }
    if (start == Start.LAPSED_AND_CANCEL_REQUESTED) {
      world.cancel(id);
    }
    if (start == Start.HELD_AND_CANCELLED_IN_SQL) {
      world.sql("SELECT carillon.cancel('t', 'k')");
    }
    return new Subject(id, lane, old, new ArrayList<>());
  }

  /** A new task is ready up to a millisecond after it is due, because bursts are spread. */
  private void makeReady(Start start) {
    world.sql(
        """
        UPDATE carillon.task
        SET due_at = now() - interval '2 s',
            ready_at = now() - interval '2 s',
            expires_at = %s;
        UPDATE carillon.queue q
        SET ready_at = t.ready_at,
            expires_at = t.expires_at
        FROM carillon.task t
        WHERE t.id = q.id
        """
            .formatted(start == Start.WAITING_TOO_LATE ? "now() - interval '1 s'" : "NULL"));
  }

  private List<ClaimedTask> claim(Tx tx, TaskId id, Lane lane) {
    var quota = new WorkQueue.Quota(lane, 1, Instant.EPOCH);
    return world
        .store
        .queue()
        .claimForWorker(tx, id.partition(), quota, "worker", Duration.ofMinutes(1))
        .tasks();
  }

  private void run(Tx tx, Step step, Subject subject) {
    Lease old = subject.old() == null ? new Lease(1, new UUID(0, 0)) : subject.old();
    TaskId id = subject.id();
    switch (step) {
      case CLAIM -> {
        subject.claimed().clear(); // the transaction may be run again
        subject.claimed().addAll(claim(tx, id, subject.lane()));
      }
      case FINISH -> report(tx, id, old, WorkReport.Kind.COMPLETED, null);
      case FINISH_WITH_OUTPUT -> report(tx, id, old, WorkReport.Kind.COMPLETED, "output");
      case RELEASE -> report(tx, id, old, WorkReport.Kind.RELEASED, null);
      case RETRY -> report(tx, id, old, WorkReport.Kind.FAILED, null);
      case RENEW ->
          world
              .store
              .pullQueue()
              .renew(
                  tx,
                  World.TENANT,
                  List.of(new PullQueue.Renewal(id, old)),
                  _ -> true,
                  Duration.ofMinutes(1));
      case REAP -> reap(tx, id);
      case CANCEL -> world.tasks.cancel(tx, World.TENANT, id, "test", null);
      case CANCEL_MATCHING ->
          world.tasks.cancelMatching(tx, World.TENANT, TaskFilter.ALL, null, "test");
      case APPLY_CANCEL_REQUESTS -> Expiry.applyCancelRequests(tx, 10);
      case CANCEL_IN_SQL ->
          tx.query("/* test */ SELECT carillon.cancel('t', 'k')", row -> row.getInt(1));
      case EDIT_PAYLOAD -> edit(tx, id, new TaskPatch(null, null, EDITED, null, null, null));
      case POSTPONE -> {
        Instant later = world.clock.instant().plus(Duration.ofHours(1));
        edit(tx, id, new TaskPatch(later, null, null, null, null, null));
      }
      case RUN_NOW -> world.tasks.runNow(tx, World.TENANT, id, "test", null);
      case EXPIRE -> Expiry.expire(tx, id.partition(), 10);
    }
  }

  private void edit(Tx tx, TaskId id, TaskPatch patch) {
    world.tasks.patch(tx, World.TENANT, id, patch, "test", null);
  }

  /** A result with an output is written by a different statement than one without. */
  private void report(
      Tx tx, TaskId id, Lease lease, WorkReport.Kind kind, @Nullable String output) {
    world
        .store
        .pullQueue()
        .report(
            tx,
            World.TENANT,
            List.of(new WorkReport(id, lease, kind, output, null, Duration.ofHours(1), null)),
            List.of(),
            "worker");
  }

  private void reap(Tx tx, TaskId id) {
    for (HeldClaims.Lost lost : world.store.claims().lapsed(10)) {
      world
          .store
          .claims()
          .reap(
              tx,
              lost,
              (held, _) -> {
                assertThat(held.id()).isEqualTo(id);
                return new Outcome.RetryAt(
                    Instant.now().minusSeconds(1), Failure.of(FailureKind.LEASE_LOST, "lost"));
              });
    }
  }

  private static Stream<List<Step>> permutations(List<Step> done, Set<Step> left) {
    return left.isEmpty()
        ? Stream.of(done)
        : left.stream()
            .flatMap(
                step -> {
                  List<Step> longer = new ArrayList<>(done);
                  longer.add(step);
                  Set<Step> fewer = EnumSet.copyOf(left);
                  fewer.remove(step);
                  return permutations(longer, fewer);
                });
  }

  /**
   * All orders of six steps. Without an old holder most of them do nothing, and with a cancel
   * requested beforehand the task ends the same way, so these starts are left out.
   */
  static Stream<Arguments> sequences() {
    return Stream.of(
        Arguments.of(Start.HELD, "CLAIM FINISH RENEW RELEASE REAP CANCEL"),
        Arguments.of(Start.LAPSED, "CLAIM FINISH RENEW RELEASE REAP CANCEL"),
        Arguments.of(Start.LAPSED, "CLAIM FINISH_WITH_OUTPUT RENEW RELEASE REAP CANCEL"),
        Arguments.of(Start.HELD, "CLAIM RETRY CANCEL_IN_SQL EDIT_PAYLOAD POSTPONE RUN_NOW"),
        Arguments.of(Start.HELD_TOO_LATE, "CLAIM RELEASE EDIT_PAYLOAD POSTPONE RUN_NOW EXPIRE"));
  }

  @ParameterizedTest
  @MethodSource("sequences")
  void steps_in_sequence_match_the_model_in_every_order(Start start, String names) {
    Set<Step> steps = EnumSet.noneOf(Step.class);
    Stream.of(names.split(" ")).map(Step::valueOf).forEach(steps::add);
    int orders = 0;
    for (List<Step> order : permutations(List.of(), steps).toList()) {
      Subject subject = subject(start);
      orders++;
      Model model = new Model(start);
      for (Step step : order) {
        runAlone(step, subject);
        Model before = model;
        model = model.after(step);
        assertThat(visible(subject.id()))
            .as("%s, %s up to %s", start, order, step)
            .isEqualTo(model.visible());
        if (step == Step.CLAIM) {
          assertThat(subject.claimed())
              .extracting(ClaimedTask::payload)
              .isEqualTo(model.fence == before.fence ? List.of() : List.of(model.payload));
        }
      }
      assertIsConsistent(subject.id());
    }
    assertThat(orders).isEqualTo(720);
  }

  private String visible(TaskId id) {
    TaskView task = world.find(id);
    Instant readyAt = task.readyAt();
    return Model.visible(
        task.state(),
        task.fence(),
        task.attempt(),
        task.version(),
        task.spec().payload(),
        task.cancelRequested(),
        readyAt != null && !readyAt.isAfter(world.clock.instant()));
  }

  /**
   * Every recorded transition is allowed by TaskState and starts in the state where the one before
   * it ended; fences never fall. The task is in the queue, or held by a claim, or it has ended.
   */
  private void assertIsConsistent(TaskId id) {
    TaskStory story = world.tasks.story(World.TENANT, id).orElseThrow();
    TaskState state = TaskState.PENDING;
    int fence = 0;
    for (TaskStory.Transition transition : story.transitions()) {
      assertThat(transition.from()).as("%s", story.transitions()).isEqualTo(state);
      assertThat(state.canBecome(transition.to())).as("%s", transition).isTrue();
      assertThat(transition.fence()).isGreaterThanOrEqualTo(fence);
      state = transition.to();
      fence = transition.fence();
    }
    assertThat(story.task().state()).isEqualTo(state);
    assertThat(world.value("SELECT count(*) FROM carillon.misplaced_task")).isEqualTo("0");
  }

  record Overlap(Start start, Step first, Step second, boolean commits) {

    private boolean has(Step step) {
      return first == step || second == step;
    }
  }

  private static Stream<Overlap> allOverlaps() {
    List<Overlap> overlaps = new ArrayList<>();
    for (Start start : Start.values()) {
      for (Step first : Step.values()) {
        for (Step second : Step.values()) {
          overlaps.add(new Overlap(start, first, second, true));
          overlaps.add(new Overlap(start, first, second, false));
        }
      }
    }
    return overlaps.stream();
  }

  /** Only a task that is too late expires, and only a request that was made before is applied. */
  static Stream<Overlap> overlaps() {
    return allOverlaps()
        .filter(overlap -> overlap.start().isTooLate() == overlap.has(Step.EXPIRE))
        .filter(
            overlap ->
                (overlap.start() == Start.HELD_AND_CANCELLED_IN_SQL)
                    == overlap.has(Step.APPLY_CANCEL_REQUESTS));
  }

  @ParameterizedTest
  @MethodSource("overlaps")
  void overlapping_steps_have_the_result_of_some_sequential_order(Overlap overlap)
      throws InterruptedException, ExecutionException {
    assertResultIsOfSomeOrder(overlap, subject(overlap.start()));
  }

  /** A task with a concurrency key is claimed by another statement. */
  static Stream<Overlap> overlapsWithClaim() {
    return allOverlaps().filter(overlap -> overlap.has(Step.CLAIM));
  }

  @ParameterizedTest
  @MethodSource("overlapsWithClaim")
  void a_concurrency_key_is_taken_exactly_while_its_task_runs(Overlap overlap)
      throws InterruptedException, ExecutionException {
    Subject subject = subject(overlap.start(), "c");
    assertThatThrownBy(
            () ->
                world.db.tryTransaction(
                    tx -> {
                      claim(tx, subject.id(), subject.lane()); // the queue notices the key
                      throw new IllegalStateException("roll back");
                    }))
        .hasMessage("roll back");

    assertResultIsOfSomeOrder(overlap, subject);

    boolean isRunning = world.state(subject.id()) == TaskState.RUNNING;
    assertThat(world.value("SELECT count(*) FROM carillon.running_key"))
        .isEqualTo(isRunning ? "1" : "0");
  }

  private void assertResultIsOfSomeOrder(Overlap overlap, Subject subject)
      throws InterruptedException, ExecutionException {
    Step second = overlap.second();
    overlapping.run(
        tx -> run(tx, overlap.first(), subject), overlap.commits(), tx -> run(tx, second, subject));
    if (second == Step.REAP || second == Step.EXPIRE) {
      runAlone(second, subject); // its next pass
    }
    world.store.expiry().applyCancelRequests(10);

    Model start = new Model(overlap.start());
    List<Model> legal = new ArrayList<>();
    Model afterFirst = overlap.commits() ? start.after(overlap.first()) : start;
    legal.add(afterFirst.after(second));
    if (overlap.commits()) {
      legal.add(start.after(second).after(overlap.first()));
    }
    if (second == Step.CLAIM) {
      legal.add(afterFirst); // a claim skips tasks that another transaction has locked
    }
    String visible = visible(subject.id());
    assertThat(legal)
        .as("%s", overlap)
        .extracting(model -> model.afterCancelRequests().visible())
        .contains(visible);
    if (overlap.commits() || second == Step.CLAIM) {
      // Nobody can edit a task that runs, so this is also what the next statement of the claim saw.
      assertThat(subject.claimed()).allMatch(task -> visible.contains("payload=" + task.payload()));
    }
    assertIsConsistent(subject.id());
  }

  private void runAlone(Step step, Subject subject) {
    world.db.inTransaction(
        tx -> {
          run(tx, step, subject);
          return true;
        });
  }
}
