package carillon.store.queue;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Lane;
import carillon.model.task.Lease;
import carillon.model.task.NewTask;
import carillon.model.task.Outcome;
import carillon.model.task.Route;
import carillon.model.task.TaskState;
import carillon.store.tasks.Counters;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Completes many tasks in one batch, with equal and with different results. */
class CompletionsTest {

  private static final int TASKS = 250;
  private static final int RECLAIMED = 10;

  private World world;
  private Lane lane;

  @BeforeEach
  void open() {
    world = World.create();
    List<NewTask> tasks = Collections.nCopies(TASKS, World.task("t", new Target.Pull()));
    world.db.inTransaction(tx -> world.tasks.createAll(tx, World.TENANT, tasks));
    lane = world.catalog.laneFor(World.TENANT, "t", 5, 0, Route.PULL);
    makeReady();
  }

  @AfterEach
  void close() {
    world.close();
  }

  /** New tasks are ready up to a millisecond after they are due, because bursts are spread. */
  private void makeReady() {
    world.sql("UPDATE carillon.task SET ready_at = now() - interval '1 s' WHERE state = 'PENDING'");
  }

  private List<ClaimedTask> claim(int tasks) {
    return claim(tasks, lane);
  }

  /** Claims tasks of several lanes at once, as a node does. */
  private List<ClaimedTask> claim(int tasks, Lane... lanes) {
    List<WorkQueue.Quota> quotas =
        Stream.of(lanes).map(each -> new WorkQueue.Quota(each, tasks, Instant.EPOCH)).toList();
    var claimant = WorkQueue.Claimant.reporter(UUID.randomUUID(), "worker", Duration.ofMinutes(1));
    return world
        .store
        .queue()
        .claimDue(Partition.of(world.clock.instant()), quotas, claimant)
        .tasks();
  }

  private static ClaimEnding completed(ClaimedTask task, @Nullable String output) {
    return completed(task, task.lease(), output);
  }

  private static ClaimEnding completed(ClaimedTask task, Lease lease, @Nullable String output) {
    return new ClaimEnding(
        task.tenant(),
        task.id(),
        "t",
        lease,
        new Outcome.Completed(null, output),
        null,
        null,
        false);
  }

  private static WorkReport completion(ClaimedTask task, Lease lease) {
    return new WorkReport(task.id(), lease, WorkReport.Kind.COMPLETED, null, null, null, null);
  }

  private Set<TaskId> finish(List<ClaimEnding> endings, String who) {
    return world
        .db
        .inTransaction(tx -> world.store.outcomes().finishReported(tx, endings, who))
        .states()
        .keySet();
  }

  /** Returns tasks to PENDING like the reaper, so that the next claim has a higher fence. */
  private Set<TaskId> reclaim(List<ClaimedTask> tasks) {
    var retry =
        new Outcome.RetryAt(
            Instant.now().minusSeconds(1), Failure.of(FailureKind.LEASE_LOST, "lost"));
    return finish(
        tasks.stream()
            .map(
                task ->
                    new ClaimEnding(
                        task.tenant(), task.id(), "t", task.lease(), retry, null, null, false))
            .toList(),
        "reaper");
  }

  @Test
  void all_tasks_of_a_claim_with_several_tenants_and_attempts_are_completed() {
    assertThat(reclaim(claim(RECLAIMED))).hasSize(RECLAIMED);
    world.sql("INSERT INTO carillon.tenant (name) VALUES ('other')");
    world.catalog.refresh();
    Lane other = world.catalog.laneFor(new TenantId(2), "t", 5, 0, Route.PULL);
    world.sql(
        """
        UPDATE carillon.task
        SET tenant = 2,
            lane = %d
        WHERE id IN (SELECT id FROM carillon.task WHERE state = 'PENDING' ORDER BY fence, id LIMIT 20)
        """
            .formatted(other.id()));
    makeReady();
    List<ClaimedTask> claimed = claim(TASKS, lane, other);
    assertThat(claimed)
        .extracting(task -> task.lease().claim())
        .containsOnly(claimed.getFirst().lease().claim());
    assertThat(claimed).extracting(task -> task.lease().fence()).contains(1, 2);
    assertThat(claimed).extracting(task -> task.tenant().value()).contains(1, 2);

    Set<TaskId> written =
        finish(claimed.stream().map(task -> completed(task, null)).toList(), "worker");

    assertThat(written).hasSize(TASKS);
    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE state <> 'COMPLETED'"))
        .isEqualTo("0");
  }

  /** The output with which a task is completed. */
  enum Output {
    NONE,
    EQUAL,
    DIFFERENT;

    @Nullable String of(ClaimedTask task) {
      return switch (this) {
        case NONE -> null;
        case EQUAL -> "done";
        case DIFFERENT -> "done: " + task.id();
      };
    }
  }

  @ParameterizedTest
  @EnumSource
  void only_tasks_that_are_still_held_are_completed(Output output) {
    List<ClaimedTask> old = claim(TASKS);
    assertThat(old).hasSize(TASKS);
    assertThat(reclaim(old.subList(0, RECLAIMED))).hasSize(RECLAIMED);
    makeReady();
    List<ClaimedTask> again = claim(RECLAIMED);
    assertThat(again).hasSize(RECLAIMED);

    Set<TaskId> written =
        finish(old.stream().map(task -> completed(task, output.of(task))).toList(), "worker");

    Set<TaskId> held = new HashSet<>(old.stream().map(ClaimedTask::id).toList());
    again.forEach(task -> held.remove(task.id()));
    assertThat(written).isEqualTo(held);
    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE state = 'COMPLETED'"))
        .isEqualTo(String.valueOf(TASKS - RECLAIMED));
    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE output IS NOT NULL"))
        .isEqualTo(output == Output.NONE ? "0" : String.valueOf(TASKS - RECLAIMED));
    again.forEach(task -> assertThat(world.state(task.id())).isEqualTo(TaskState.RUNNING));
    assertThat(finish(again.stream().map(task -> completed(task, null)).toList(), "worker"))
        .hasSize(RECLAIMED);
  }

  @Test
  void each_task_keeps_its_own_result_when_results_are_nearly_equal() {
    world.sql("UPDATE carillon.task SET progress = 'before'");
    List<ClaimedTask> claimed = claim(TASKS);
    List<ClaimEnding> endings = new ArrayList<>();
    for (int i = 0; i < TASKS; i++) {
      ClaimedTask task = claimed.get(i);
      endings.add(
          new ClaimEnding(
              task.tenant(),
              task.id(),
              "t",
              task.lease(),
              new Outcome.Completed(
                  i % 2 == 0 ? null : 200 + i % 3, i % 5 == 0 ? null : "o" + i % 5),
              i % 7 == 0 ? null : "p" + i % 7,
              i % 11 == 0 ? null : "r" + i % 11,
              false));
    }
    Collections.shuffle(endings, new Random(1));

    assertThat(finish(endings, "worker")).hasSize(TASKS);

    for (ClaimEnding ending : endings) {
      assertThat(
              world.value(
                  """
                  SELECT concat_ws('|', coalesce(status::text, '-'), coalesce(output, '-'), progress,
                                   coalesce(request, '-'))
                  FROM carillon.task
                  WHERE id = '%s'
                  """
                      .formatted(ending.id())))
          .isEqualTo(
              String.join(
                  "|",
                  Objects.toString(ending.status(), "-"),
                  Objects.toString(ending.output(), "-"),
                  Objects.toString(ending.progress(), "before"),
                  Objects.toString(ending.request(), "-")));
    }
  }

  @Test
  void a_task_in_a_batch_of_several_claims_is_completed_by_its_own_claim_only() {
    List<ClaimedTask> first = claim(100);
    List<ClaimedTask> second = claim(60);
    List<ClaimedTask> third = claim(1);
    List<WorkReport> reports = new ArrayList<>();
    first.subList(0, 99).forEach(task -> reports.add(completion(task, task.lease())));
    second.subList(0, 59).forEach(task -> reports.add(completion(task, task.lease())));
    third.forEach(task -> reports.add(completion(task, task.lease())));
    reports.add(completion(first.getLast(), second.getFirst().lease()));
    reports.add(completion(second.getLast(), first.getFirst().lease()));
    Lease lease = first.getLast().lease();
    reports.add(completion(first.getLast(), new Lease(lease.fence() + 1, lease.claim())));
    Collections.shuffle(reports, new Random(1));

    List<Boolean> accepted =
        world.db.inTransaction(
            tx -> world.store.pullQueue().report(tx, World.TENANT, reports, List.of(), "worker"));

    List<TaskId> written = new ArrayList<>();
    for (int i = 0; i < reports.size(); i++) {
      if (accepted.get(i)) {
        written.add(reports.get(i).id());
      }
    }
    assertThat(written).hasSize(99 + 59 + 1).doesNotHaveDuplicates();
    assertThat(world.state(first.getLast().id())).isEqualTo(TaskState.RUNNING);
    assertThat(world.state(second.getLast().id())).isEqualTo(TaskState.RUNNING);
    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE state = 'COMPLETED'"))
        .isEqualTo(String.valueOf(written.size()));
  }

  /** Outcomes of all kinds. */
  static Stream<Outcome> outcomes() {
    Failure failure = Failure.of(FailureKind.TIMEOUT, "late");
    return Stream.of(
        new Outcome.Completed(200, null),
        new Outcome.RetryAt(Instant.now(), failure),
        new Outcome.Released(failure),
        new Outcome.Dead(failure, false));
  }

  /**
   * A failover to a standby that lags can lose a claim. The next one has the same fence: only the
   * missing row tells that the first holder is not the one that runs the task.
   */
  @ParameterizedTest
  @MethodSource("outcomes")
  void an_outcome_of_a_claim_that_a_failover_has_lost_changes_nothing(Outcome outcome) {
    world.node("node");
    List<ClaimedTask> lost = world.claim("node", TASKS);
    assertThat(lost).hasSize(TASKS);
    world.sql("DELETE FROM carillon.claim");
    world.requeue();
    String before = everyTask();

    assertThat(finishAttempts(lost, outcome)).isEmpty();
    assertThat(everyTask()).isEqualTo(before);
    assertThat(world.value("SELECT count(*) FROM carillon.queue")).isEqualTo("" + TASKS);

    List<ClaimedTask> again = world.claim("node", TASKS);
    assertThat(again).extracting(task -> task.lease().fence()).containsOnly(1);
    before = everyTask();
    assertThat(finishAttempts(lost, outcome)).isEmpty();
    assertThat(everyTask()).isEqualTo(before);
    assertThat(world.value("SELECT count(*) FROM carillon.attempt")).isEqualTo("0");
    assertThat(world.value("SELECT count(*) FROM carillon.transition")).isEqualTo("0");
    assertThat(finishAttempts(again, outcome)).hasSize(TASKS);
  }

  private Set<TaskId> finishAttempts(List<ClaimedTask> tasks, Outcome outcome) {
    return world
        .store
        .outcomes()
        .finishAttempts(
            tasks.stream().map(task -> new Attempted(task, outcome)).toList(), Set.of(), "node")
        .states()
        .keySet();
  }

  private String everyTask() {
    return world.value(
        "SELECT md5(string_agg(t::text, ' ' ORDER BY id)) FROM carillon.every_task t");
  }

  @Test
  void a_batch_writes_keys_callbacks_outputs_and_the_actor_per_task() {
    TaskId keyed = first();
    world.sql("UPDATE carillon.task SET concurrency_key = 'k' WHERE id = '" + keyed + "'");
    List<ClaimedTask> claimed = new ArrayList<>(claim(TASKS));
    claimed.addAll(claim(1)); // the first claim leaves the task with a key to another statement
    TaskId withCallback = claimed.get(1).id();
    world.sql(
        """
        UPDATE carillon.task
        SET on_complete = '{"http": {"url": "https://example.com/done", "method": "POST"}}'
        WHERE id = '%s'
        """
            .formatted(withCallback));
    assertThat(world.value("SELECT count(*) FROM carillon.running_key")).isEqualTo("1");
    List<ClaimEnding> endings = new ArrayList<>();
    for (int i = 0; i < TASKS; i++) {
      endings.add(completed(claimed.get(i), i % 50 == 49 ? "output " + i : null));
    }

    assertThat(finish(endings, "actor")).hasSize(TASKS);

    assertThat(world.value("SELECT count(*) FROM carillon.running_key")).isEqualTo("0");
    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE output LIKE 'output %'"))
        .isEqualTo("5");
    assertThat(world.value("SELECT count(*) FROM carillon.transition WHERE who = 'actor'"))
        .isEqualTo(String.valueOf(TASKS));
    assertThat(world.counters.callbacks()).isEqualTo(1);
    assertThat(world.counters.count(Counters.ClaimEnd.COMPLETED)).isEqualTo(TASKS);
  }

  private TaskId first() {
    return TaskId.parse(world.value("SELECT min(id::text) FROM carillon.task")).orElseThrow();
  }
}
