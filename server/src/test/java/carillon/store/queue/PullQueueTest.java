package carillon.store.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Lease;
import carillon.model.task.TaskState;
import carillon.store.tasks.ChangeResult;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class PullQueueTest {

  private World world;

  @BeforeEach
  void open() {
    world = World.create();
  }

  @AfterEach
  void close() {
    world.close();
  }

  private List<ClaimedTask> claim(int tasks) {
    List<ClaimedTask> claimed = new ArrayList<>();
    await()
        .until(
            () -> {
              claimed.addAll(claimOnce(tasks));
              return claimed.size() >= tasks;
            });
    return claimed;
  }

  private List<ClaimedTask> claimOnce(int tasks) {
    return world.db.inTransaction(
        tx ->
            world
                .store
                .pullQueue()
                .claim(tx, World.TENANT, List.of("t"), tasks, "worker", Duration.ofMinutes(1)));
  }

  private List<Boolean> report(TaskId id, Lease lease, WorkReport.Kind... kinds) {
    List<WorkReport> reports = new ArrayList<>();
    for (WorkReport.Kind kind : kinds) {
      reports.add(new WorkReport(id, lease, kind, null, null, null, null));
    }
    return world.db.inTransaction(
        tx -> world.store.pullQueue().report(tx, World.TENANT, reports, List.of(), "worker"));
  }

  static Stream<TestTask> specialTasks() {
    return Stream.of(
        TestTask.of("t").payload("\"" + "x".repeat(9 << 10) + "\""),
        TestTask.of("t").concurrencyKey("one-at-a-time"));
  }

  @ParameterizedTest
  @MethodSource("specialTasks")
  void a_worker_gets_large_and_keyed_tasks_at_its_first_request(TestTask special) {
    TaskId plain = world.create(World.task("t", new Target.Pull()));
    TaskId id = world.create(special.target(new Target.Pull()).build());
    await()
        .until(
            () ->
                world
                    .value("SELECT bool_and(ready_at <= clock_timestamp()) FROM carillon.queue")
                    .equals("t"));

    assertThat(claimOnce(5)).extracting(ClaimedTask::id).containsExactlyInAnyOrder(plain, id);
  }

  @Test
  void a_report_ends_its_task_and_the_last_report_ends_the_claim() {
    world.create(World.task("t", new Target.Pull()));
    world.create(World.task("t", new Target.Pull()));
    List<ClaimedTask> claimed = claim(2);

    for (ClaimedTask task : claimed) {
      assertThat(report(task.id(), task.lease(), WorkReport.Kind.COMPLETED)).containsExactly(true);
    }

    assertThat(world.value("SELECT count(*) FROM carillon.claim")).isEqualTo("0");
    assertThat(claimed).allMatch(task -> world.state(task.id()) == TaskState.COMPLETED);
  }

  @Test
  void a_sweep_removes_dropped_partitions_from_the_agenda() {
    TaskId id = world.create(World.task("t", new Target.Pull()));
    int lane = Integer.parseInt(world.value("SELECT lane FROM carillon.task"));
    Partition dropped = new Partition(LocalDate.of(2020, 1, 2));
    world.agenda.found(dropped, lane, Instant.EPOCH);

    world.sweep();

    assertThat(claim(1)).extracting(ClaimedTask::id).containsExactly(id);
    assertThat(world.agenda.partitionsDueBy(Instant.EPOCH)).doesNotContain(dropped);
  }

  @Test
  void the_first_of_two_reports_on_a_task_wins() {
    TaskId id = world.create(World.task("t", new Target.Pull()));
    Lease lease = claim(1).getFirst().lease();

    assertThat(report(id, lease, WorkReport.Kind.COMPLETED, WorkReport.Kind.DEAD))
        .containsExactly(true, false);
    assertThat(report(id, lease, WorkReport.Kind.COMPLETED)).containsExactly(false);
    assertThat(world.state(id)).isEqualTo(TaskState.COMPLETED);
  }

  @Test
  void two_reports_on_a_task_in_one_request_count_once_for_its_claim() {
    world.create(World.task("t", new Target.Pull()));
    world.create(World.task("t", new Target.Pull()));
    String ready = "SELECT count(*) FROM carillon.task WHERE ready_at <= now()";
    await().until(() -> world.value(ready).equals("2"));
    List<ClaimedTask> claimed = claim(2);
    assertThat(world.value("SELECT count(*) FROM carillon.claim")).isEqualTo("1");
    ClaimedTask first = claimed.getFirst();

    assertThat(
            report(first.id(), first.lease(), WorkReport.Kind.COMPLETED, WorkReport.Kind.COMPLETED))
        .containsExactly(true, false);

    assertThat(world.value("SELECT count(*) FROM carillon.claim")).isEqualTo("1");
  }

  @Test
  void a_report_with_a_stale_lease_does_not_hide_the_current_one() {
    TaskId id = world.create(World.task("t", new Target.Pull()));
    Lease lease = claim(1).getFirst().lease();
    Lease old = new Lease(lease.fence(), UUID.randomUUID());

    for (WorkReport.Kind kind : List.of(WorkReport.Kind.RELEASED, WorkReport.Kind.COMPLETED)) {
      Lease current = kind == WorkReport.Kind.RELEASED ? lease : claim(1).getFirst().lease();
      List<WorkReport> reports =
          List.of(
              new WorkReport(id, old, WorkReport.Kind.COMPLETED, null, null, null, null),
              new WorkReport(id, current, kind, null, null, null, null));
      List<Boolean> accepted =
          world.db.inTransaction(
              tx -> world.store.pullQueue().report(tx, World.TENANT, reports, List.of(), "worker"));
      assertThat(accepted).containsExactly(false, true);
    }
    assertThat(world.state(id)).isEqualTo(TaskState.COMPLETED);
  }

  @Test
  void a_report_with_an_unknown_lease_changes_nothing() {
    TaskId id = world.create(World.task("t", new Target.Pull()));
    Lease lease = claim(1).getFirst().lease();

    assertThat(report(id, new Lease(lease.fence(), UUID.randomUUID()), WorkReport.Kind.DEAD))
        .containsExactly(false);
    assertThat(report(id, new Lease(lease.fence() + 1, lease.claim()), WorkReport.Kind.DEAD))
        .containsExactly(false);
    assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);
  }

  @Test
  void a_report_on_an_id_without_a_partition_is_stale() {
    TaskId unknown = TaskId.parse("e677d21f-dbff-7fff-bfff-ffffffffffff").orElseThrow();

    assertThat(report(unknown, new Lease(1, UUID.randomUUID()), WorkReport.Kind.DEAD))
        .containsExactly(false);
    assertThat(TaskId.parse("ffffffff-ffff-7fff-bfff-ffffffffffff")).isEmpty();
  }

  @Test
  void the_reaper_sees_a_renewal_with_a_shorter_lease() {
    TaskId id = world.create(World.task("t", new Target.Pull()));
    Lease lease = claim(1).getFirst().lease();

    List<PullQueue.RenewResult> renewed =
        world.db.inTransaction(
            tx ->
                world
                    .store
                    .pullQueue()
                    .renew(
                        tx,
                        World.TENANT,
                        List.of(new PullQueue.Renewal(id, lease)),
                        _ -> true,
                        Duration.ofMillis(1)));

    assertThat(renewed)
        .extracting(PullQueue.RenewResult::renewed)
        .containsExactly(PullQueue.Renewed.RENEWED);
    await().until(() -> world.store.claims().lapsed(10).size() == 1);
  }

  @Test
  void a_renewal_reports_a_requested_cancel() {
    TaskId id = world.create(World.task("t", new Target.Pull()));
    Lease lease = claim(1).getFirst().lease();
    assertThat(world.cancel(id)).isInstanceOf(ChangeResult.Requested.class);

    List<PullQueue.RenewResult> renewed =
        world.db.inTransaction(
            tx ->
                world
                    .store
                    .pullQueue()
                    .renew(
                        tx,
                        World.TENANT,
                        List.of(new PullQueue.Renewal(id, lease)),
                        _ -> true,
                        null));

    assertThat(renewed)
        .extracting(PullQueue.RenewResult::renewed)
        .containsExactly(PullQueue.Renewed.CANCELLED);
    report(id, lease, WorkReport.Kind.FAILED);
    assertThat(world.state(id)).isEqualTo(TaskState.CANCELLED);
  }
}
