package carillon.store.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.model.task.AlertSetting;
import carillon.model.task.Attempted;
import carillon.model.task.Callbacks;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.NewTask;
import carillon.model.task.Outcome;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskState;
import carillon.store.catalog.Tenant;
import carillon.store.catalog.Tenants;
import carillon.store.db.Json;
import carillon.store.tasks.TaskFilter;
import carillon.store.tasks.TaskView;
import carillon.testkit.TestTask;
import carillon.testkit.TestTypeSettings;
import carillon.testkit.World;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;

/** Callbacks of tasks that are ended by the engine, a worker or the reaper. */
class CallbackTasksTest {

  private static final Target DONE = http("https://example.com/done");
  private static final Target DIED = http("https://example.com/died");
  private static final Callbacks BOTH = new Callbacks(DONE, DIED);
  private static final Outcome.Completed COMPLETED = new Outcome.Completed(200, "ok");
  private static final Outcome.Dead DEAD =
      new Outcome.Dead(new Failure(FailureKind.STATUS, "404 Not Found", 404, "what?"), false);
  private static final Duration MINUTE = Duration.ofMinutes(1);

  private World world;

  @BeforeEach
  void open() {
    world = World.create();
    world.node("node");
  }

  @AfterEach
  void close() {
    world.close();
  }

  private static Target http(String url) {
    return new Target.Http(url, "POST", Map.of(), null, null);
  }

  private static TestTask task(Target target) {
    return TestTask.of("t")
        .key("order-1")
        .priority(7)
        .payload("{\"secret\": 1}")
        .target(target)
        .metadata(Map.of("team", "a"));
  }

  private void finish(ClaimedTask task, Outcome outcome) {
    world
        .store
        .outcomes()
        .finishAttempts(
            List.of(new Attempted(task, outcome)), Set.of(task.lease().claim()), "node");
  }

  private void configure(TenantId tenant, String type, Callbacks callbacks) {
    world.store.types().put(tenant, type, TestTypeSettings.withCallbacks(callbacks), "test", null);
  }

  /** All callbacks, oldest first. */
  private List<TaskView> callbacks() {
    return callbacksOf(World.TENANT);
  }

  private List<TaskView> callbacksOf(TenantId tenant) {
    var filter = new TaskFilter(Callbacks.TYPE, null, null, null, null, null, null, Map.of());
    return world.tasks.list(tenant, filter, 1_000, null, true).items().reversed();
  }

  private static JsonNode payload(TaskView callback) {
    return Json.MAPPER.readTree(String.valueOf(callback.spec().payload()));
  }

  private long count(String condition) {
    return Long.parseLong(
        world.value(
            "SELECT count(*) FROM carillon.task t JOIN carillon.lane l ON l.id = t.lane WHERE "
                + condition));
  }

  private static final String IS_CALLBACK = "l.type = 'carillon.callback'";

  @Test
  void the_callback_of_a_completed_task_has_its_result_and_not_its_payload() {
    TaskId id = world.create(task(new Target.Discard()).callbacks(BOTH).build());
    finish(world.claimOne("node"), COMPLETED);

    TaskView callback = callbacks().getFirst();

    assertThat(callbacks()).hasSize(1);
    assertThat(callback.state()).isEqualTo(TaskState.PENDING);
    assertThat(callback.key()).isEqualTo(id.toString());
    assertThat(callback.priority()).isEqualTo(7);
    assertThat(callback.spec().target()).isEqualTo(DONE);
    assertThat(callback.spec().retry()).isNull();
    TaskView task = world.find(id);
    JsonNode payload = payload(callback);
    assertThat(payload.get("event").asString()).isEqualTo("task.completed");
    assertThat(payload.get("at").asString()).isEqualTo(payload.at("/task/finishedAt").asString());
    assertThat(payload.get("task"))
        .isEqualTo(
            Json.MAPPER.readTree(
                """
                {"id": "%s", "type": "t", "key": "order-1", "status": "COMPLETED", "attempt": 1,
                 "dueAt": "%s", "startedAt": "%s", "finishedAt": "%s", "scheduleName": null,
                 "fireAt": null, "output": "ok", "error": null,
                 "failure": null, "metadata": {"team": "a"}}
                """
                    .formatted(
                        id,
                        Json.of(task.dueAt()),
                        Json.of(Objects.requireNonNull(task.startedAt())),
                        Json.of(Objects.requireNonNull(task.finishedAt())))));
    assertThat(world.counters.callbacks()).isEqualTo(1);
  }

  @Test
  void the_callback_of_a_dead_task_has_its_failure() {
    TaskId id = world.create(task(new Target.Discard()).callbacks(BOTH).build());
    finish(world.claimOne("node"), DEAD);

    assertThat(callbacks())
        .singleElement()
        .satisfies(callback -> assertThat(callback.spec().target()).isEqualTo(DIED));
    JsonNode payload = payload(callbacks().getFirst());
    assertThat(payload.get("event").asString()).isEqualTo("task.dead");
    assertThat(payload.at("/task/id").asString()).isEqualTo(id.toString());
    assertThat(payload.at("/task/status").asString()).isEqualTo("DEAD");
    assertThat(payload.at("/task/error").asString()).isEqualTo("404 Not Found");
    assertThat(payload.at("/task/failure").asString()).isEqualTo("status");
    assertThat(payload.at("/task/output").asString()).isEqualTo("what?");
  }

  @Test
  void a_tasks_own_callback_overrides_that_of_its_type() {
    configure(World.TENANT, "t", BOTH);
    Target own = http("https://example.com/own");
    world.create(task(new Target.Discard()).callbacks(new Callbacks(own, null)).build());

    finish(world.claimOne("node"), COMPLETED);
    world.create(task(new Target.Discard()).build());
    finish(claimTask(), COMPLETED);
    world.create(task(new Target.Discard()).callbacks(new Callbacks(own, null)).build());
    finish(claimTask(), DEAD);

    assertThat(callbacks())
        .extracting(task -> task.spec().target())
        .containsExactly(own, DONE, DIED);
  }

  /** Claims a task that is not a callback; callbacks are due as well. */
  private ClaimedTask claimTask() {
    while (true) {
      ClaimedTask claimed = world.claimOne("node");
      if (claimed.type().equals("t")) {
        return claimed;
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = WorkReport.Kind.class,
      names = {"COMPLETED", "DEAD"})
  void a_workers_report_creates_a_callback(WorkReport.Kind kind) {
    TaskId id = world.create(task(new Target.Pull()).callbacks(BOTH).build());
    ClaimedTask held = claimForWorker(1).getFirst();

    boolean accepted = report(held, kind);
    boolean again = report(held, kind);

    assertThat(accepted).isTrue();
    assertThat(again).as("a second report").isFalse();
    assertThat(callbacks()).extracting(TaskView::key).containsExactly(id.toString());
    assertThat(payload(callbacks().getFirst()).at("/task/status").asString())
        .isEqualTo(kind.name());
  }

  private List<ClaimedTask> claimForWorker(int tasks) {
    List<ClaimedTask> claimed = new ArrayList<>();
    while (claimed.size() < tasks) {
      claimed.addAll(
          world.db.inTransaction(
              tx ->
                  world
                      .store
                      .pullQueue()
                      .claim(
                          tx,
                          World.TENANT,
                          List.of("t"),
                          tasks - claimed.size(),
                          "worker",
                          MINUTE)));
      world.sweep();
    }
    return claimed;
  }

  private boolean report(ClaimedTask task, WorkReport.Kind kind) {
    var report = new WorkReport(task.id(), task.lease(), kind, null, "broken", null, null);
    return world
        .db
        .inTransaction(
            tx ->
                world
                    .store
                    .pullQueue()
                    .report(tx, World.TENANT, List.of(report), List.of(), "worker"))
        .getFirst();
  }

  /** Ends the leases of all claims. */
  private void lapse() {
    world.sql(
        """
        UPDATE carillon.claim
        SET lease_until = now() - interval '1 s',
            check_at = now() - interval '1 s'
        """);
  }

  @Test
  void a_task_ended_by_the_reaper_creates_a_callback() {
    TaskId id = world.create(task(new Target.Pull()).callbacks(BOTH).build());
    claimForWorker(1);
    lapse();

    world
        .store
        .claims()
        .lapsed(10)
        .forEach(lost -> world.store.claims().reap(lost, (_, _) -> DEAD));

    assertThat(world.state(id)).isEqualTo(TaskState.DEAD);
    assertThat(callbacks()).extracting(task -> task.spec().target()).containsExactly(DIED);
  }

  @Test
  void retries_releases_and_cancels_create_no_callback() {
    Failure failure = Failure.of(FailureKind.TIMEOUT, "late");
    TaskId id = world.create(task(new Target.Discard()).callbacks(BOTH).build());
    finish(world.claimOne("node"), new Outcome.Released(failure));
    finish(world.claimOne("node"), new Outcome.RetryAt(world.clock.instant(), failure));
    ClaimedTask last = world.claimOne("node");
    world.cancel(id);
    finish(last, new Outcome.RetryAt(world.clock.instant(), failure));

    assertThat(world.state(id)).isEqualTo(TaskState.CANCELLED);
    assertThat(callbacks()).isEmpty();
  }

  @Test
  void an_outcome_that_is_rolled_back_leaves_no_callback() {
    TaskId id = world.create(task(new Target.Discard()).callbacks(BOTH).build());
    ClaimedTask held = world.claimOne("node");

    assertThatThrownBy(
            () ->
                world.db.inTransaction(
                    tx -> {
                      world
                          .store
                          .outcomes()
                          .finishReported(
                              tx, List.of(ClaimEnding.of(new Attempted(held, COMPLETED))), "node");
                      throw new IllegalStateException("on the last line");
                    }))
        .hasMessage("on the last line");

    assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);
    assertThat(count(IS_CALLBACK)).isZero();
    finish(held, COMPLETED);
    assertThat(count(IS_CALLBACK)).isEqualTo(1);
    assertThat(world.counters.callbacks()).isEqualTo(1);
  }

  @Test
  void a_stale_claim_creates_no_callback() {
    TaskId id = world.create(task(new Target.Pull()).callbacks(BOTH).build());
    ClaimedTask stale = claimForWorker(1).getFirst();
    lapse();
    Outcome again =
        new Outcome.RetryAt(world.clock.instant(), Failure.of(FailureKind.LEASE_LOST, "lost"));
    world
        .store
        .claims()
        .lapsed(10)
        .forEach(lost -> world.store.claims().reap(lost, (_, _) -> again));

    boolean accepted = report(stale, WorkReport.Kind.COMPLETED);

    assertThat(accepted).isFalse();
    assertThat(world.state(id)).isEqualTo(TaskState.PENDING);
    assertThat(callbacks()).isEmpty();
  }

  @Test
  void a_redriven_task_that_dies_again_creates_another_callback() {
    TaskId id = world.create(task(new Target.Discard()).callbacks(BOTH).build());
    finish(world.claimOne("node"), DEAD);
    world.db.inTransaction(tx -> world.tasks.redrive(tx, World.TENANT, id, "me", null));
    finish(claimTask(), DEAD);

    assertThat(callbacks()).extracting(TaskView::key).containsExactly(id.toString(), id.toString());
  }

  @Test
  void a_callback_task_creates_no_callback() {
    configure(World.TENANT, Callbacks.TYPE, BOTH);
    world.create(task(new Target.Discard()).callbacks(BOTH).build());
    finish(world.claimOne("node"), COMPLETED);
    ClaimedTask callback = world.claimOne("node");

    finish(callback, COMPLETED);

    assertThat(callback.type()).isEqualTo(Callbacks.TYPE);
    assertThat(count(IS_CALLBACK)).isEqualTo(1);
  }

  @Test
  void a_strict_tenant_gets_callbacks() {
    Tenant strict =
        world
            .store
            .tenants()
            .put(
                "strict",
                new Tenants.Settings(true, false, 1, new AlertSetting.Inherited(), null),
                "test");
    configure(strict.id(), "t", BOTH);
    world.tasks.create(strict.id(), task(new Target.Discard()).build());

    finish(world.claimOne("node"), COMPLETED);

    assertThat(callbacksOf(strict.id()))
        .extracting(task -> task.spec().target())
        .containsExactly(DONE);
    assertThat(callbacks()).isEmpty();
  }

  @Test
  void a_gone_target_pauses_the_type_and_creates_a_callback() {
    configure(World.TENANT, "t", BOTH);
    world.create(task(DONE).build());
    Failure gone = Failure.of(FailureKind.STATUS, "410 Gone");

    finish(world.claimOne("node"), new Outcome.Dead(gone, true));

    assertThat(world.store.types().find(World.TENANT, "t").orElseThrow().paused()).isTrue();
    assertThat(callbacks()).hasSize(1);
  }

  @Test
  void tasks_that_end_in_one_batch_create_a_callback_each() {
    NewTask task = task(new Target.Discard()).callbacks(BOTH).build();
    world.db.inTransaction(
        tx -> world.tasks.createAll(tx, World.TENANT, Collections.nCopies(1_500, task)));
    List<Attempted> attempted = new ArrayList<>();
    Set<UUID> claims = new HashSet<>();
    while (attempted.size() < 1_500) {
      for (ClaimedTask claimed : world.claim("node", 1_500)) {
        claims.add(claimed.lease().claim());
        attempted.add(new Attempted(claimed, attempted.size() % 2 == 0 ? COMPLETED : DEAD));
      }
    }

    world.store.outcomes().finishAttempts(attempted, claims, "node");

    assertThat(count(IS_CALLBACK + " AND t.payload LIKE '%task.completed%'")).isEqualTo(750);
    assertThat(count(IS_CALLBACK + " AND t.payload LIKE '%task.dead%'")).isEqualTo(750);
    assertThat(
            world.value(
                """
                SELECT count(*)
                FROM carillon.task c
                JOIN carillon.task t ON t.id::text = c.key
                WHERE c.payload::jsonb #>> '{task,status}' = t.state::text
                """))
        .isEqualTo("1500");
  }

  @Test
  void racing_ends_of_a_task_create_one_callback() throws Exception {
    NewTask task =
        TestTask.of("t")
            .target(new Target.Pull())
            .retry(RetryPolicy.DEFAULT)
            .callbacks(BOTH)
            .build();
    world.db.inTransaction(
        tx -> world.tasks.createAll(tx, World.TENANT, Collections.nCopies(200, task)));
    List<ClaimedTask> held = claimForWorker(200);
    lapse();
    List<HeldClaims.Lost> lost = world.store.claims().lapsed(1_000);

    try (ExecutorService threads = Executors.newFixedThreadPool(6)) {
      List<Future<?>> ends = new ArrayList<>();
      for (ClaimedTask each : held) {
        ends.add(threads.submit(() -> report(each, WorkReport.Kind.COMPLETED)));
        ends.add(threads.submit(() -> report(each, WorkReport.Kind.DEAD)));
      }
      lost.forEach(
          each -> ends.add(threads.submit(() -> world.store.claims().reap(each, (_, _) -> DEAD))));
      for (Future<?> end : ends) {
        end.get();
      }
    }

    assertThat(count("l.type = 't' AND t.state IN ('COMPLETED', 'DEAD')")).isEqualTo(200);
    assertThat(count(IS_CALLBACK)).isEqualTo(200);
    assertThat(
            world.value(
                """
                SELECT count(DISTINCT t.id)
                FROM carillon.task c
                JOIN carillon.task t ON t.id::text = c.key
                WHERE c.payload::jsonb #>> '{task,status}' = t.state::text
                """))
        .isEqualTo("200");
  }

  @Test
  void a_task_shows_only_its_own_callbacks() {
    configure(World.TENANT, "t", BOTH);
    Target own = http("https://example.com/own");

    TaskId id = world.create(task(new Target.Pull()).callbacks(new Callbacks(null, own)).build());

    assertThat(world.find(id).spec().callbacks()).isEqualTo(new Callbacks(null, own));
    assertThat(world.store.types().find(World.TENANT, "t").orElseThrow().callbacks())
        .isEqualTo(BOTH);
  }
}
