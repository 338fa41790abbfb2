package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.cluster.ClusterView;
import carillon.model.cluster.Hint;
import carillon.model.target.Target;
import carillon.model.task.TaskState;
import carillon.store.cluster.Hints;
import carillon.store.db.StoreException;
import carillon.store.queue.Agenda;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Hints between nodes. The test runs the passes, and sweeps only where it says so. */
@Tag("slow")
class HintsTest {

  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);

  /** The shard of the lanes 0, 64 and so on, which no test creates. */
  private static final long SOME = 1;

  private World here;
  private Node maker;
  private Node runner;

  /** A process that sends hints and receives them. */
  private static final class Node implements AutoCloseable {
    private final World world;
    private final Hints hints;
    private final Announcer announcer;
    private final Listener listener;
    private final List<Hint.News> heard = new ArrayList<>();

    /**
     * @param owns whether it owns all lanes, or only lanes that do not exist
     */
    Node(World world, String name, boolean owns) {
      this.world = world;
      this.hints = new Hints(world.db, world.address);
      ClusterView view = new ClusterView(null, owns ? -1L : SOME, false);
      this.announcer = new Announcer(name, world.catalog, () -> view, world.clock, hints::send);
      this.listener = new Listener(name, hints, world.memory, announcer);
      world.signals.membersChanged().add(() -> heard.add(Hint.News.MEMBERS));
      world.signals.shardsHinted().add(() -> heard.add(Hint.News.SHARDS));
      world.signals.scheduleHinted().add(() -> heard.add(Hint.News.SCHEDULES));
      world.agenda.shareWith(announcer);
      world.partitions.ensure(Partition.of(world.clock.instant()));
      world.sweep(); // so that it knows which partitions there are
    }

    /** Waits for a hint, for a second at most. */
    void hear() {
      listener.listenOnce();
    }

    @Override
    public void close() {
      hints.close();
      world.close();
    }
  }

  @BeforeEach
  void open() {
    here = World.create();
    maker = new Node(here.beside(), "maker", false);
    runner = new Node(here.beside(), "runner", true);
    assertThat(runner.hints.listen()).isTrue();
  }

  @AfterEach
  void close() {
    maker.close();
    runner.close();
    here.close();
  }

  @Test
  void a_task_created_on_one_node_runs_on_the_owner_of_its_lane_without_a_sweep() {
    World world = runner.world;
    try (ManualNode node = new ManualNode(world, "runner", new FakeDeliverer(), _ -> {})) {
      Claimer claimer = node.claimer(new Seats(10));

      TaskId id = maker.world.create(World.task("of-a-lane-that-runner-has-never-seen", HTTP));
      assertThat(maker.world.agenda.earliest(_ -> true)).isNull();
      maker.announcer.announceOnce();
      runner.hear();

      await()
          .until(
              () -> {
                claimer.claimOnce();
                node.completer.flushOnce();
                return world.state(id) == TaskState.COMPLETED;
              });
    }
  }

  @Test
  void tasks_due_much_later_are_not_hinted() {
    Partition today = Partition.of(here.clock.instant());
    maker.announcer.hint(today, 1, here.clock.instant().plusSeconds(70));
    maker.announcer.announceOnce();
    maker.announcer.announce(Hint.News.SCHEDULES);
    maker.announcer.announceOnce();

    runner.hear();

    assertThat(runner.heard).containsExactly(Hint.News.SCHEDULES);
    assertThat(runner.world.agenda.earliest(_ -> true)).isNull();
  }

  @Test
  void tasks_due_within_a_minute_are_hinted() {
    Instant dueAt = here.clock.instant().plusSeconds(30);
    maker.world.create(World.task("t", HTTP, dueAt));
    maker.announcer.announceOnce();

    runner.hear();

    assertThat(runner.world.agenda.earliest(_ -> true)).isBefore(dueAt.plusSeconds(1));
    assertThat(maker.world.agenda.earliest(_ -> true)).isNull();
  }

  @Test
  void a_waiting_worker_gets_a_task_created_on_another_node_without_a_sweep() {
    maker.world.create(World.task("pulled", new Target.Pull()));
    maker.announcer.announceOnce();

    runner.hear();

    assertThat(runner.world.agenda.earliest(_ -> true)).isNotNull();
    assertThat(maker.world.agenda.earliest(_ -> true)).as("for workers here").isNotNull();
  }

  @Test
  void a_single_node_sends_no_hints() {
    List<Hint> told = new ArrayList<>();
    World alone = maker.world;
    var announcer =
        new Announcer("alone", alone.catalog, () -> ClusterView.ALONE, alone.clock, told::add);
    alone.agenda.shareWith(announcer);

    alone.create(World.task("pulled", new Target.Pull()));
    alone.create(World.task("pushed", HTTP));
    announcer.announceOnce();

    assertThat(told).isEmpty();
    assertThat(alone.agenda.earliest(_ -> true)).isNotNull();
  }

  @Test
  void a_node_ignores_its_own_hints() {
    runner.announcer.announce(Hint.News.MEMBERS);
    runner.announcer.announceOnce();
    maker.announcer.announce(Hint.News.SHARDS);
    maker.announcer.announceOnce();

    runner.hear();

    assertThat(runner.heard).containsExactly(Hint.News.SHARDS);
  }

  @Test
  void many_hints_are_split_and_the_latest_tasks_are_left_to_sweeps() {
    List<Hint> told = new ArrayList<>();
    World world = maker.world;
    var announcer =
        new Announcer(
            "maker", world.catalog, () -> ClusterView.without(null), world.clock, told::add);
    Instant now = here.clock.instant();
    for (int lane = 1; lane <= 11 * Hint.MOST_DUE; lane++) {
      announcer.hint(Partition.of(now), lane, now.plusMillis(lane));
    }
    announcer.announce(Hint.News.SHARDS);

    announcer.announceOnce();
    announcer.announceOnce();

    assertThat(told).hasSize(10).allMatch(hint -> hint.due().size() == Hint.MOST_DUE);
    assertThat(told).filteredOn(hint -> !hint.news().isEmpty()).hasSize(1);
    assertThat(told.stream().flatMap(hint -> hint.due().stream()).map(Hint.Due::lane))
        .doesNotHaveDuplicates()
        .allMatch(lane -> lane <= 10 * Hint.MOST_DUE);
  }

  @Test
  void tasks_back_in_an_old_partition_are_found_within_two_sweeps_without_hints() {
    Instant then = here.clock.instant().minus(Duration.ofDays(3));
    Partition old = Partition.of(then);
    int lane = oldTask(then);
    runner.world.sweep(); // so that a full one is not the next anyway
    here.sql(
        "UPDATE carillon.task SET state = 'PENDING', ready_at = now() WHERE partition = '%s'"
            .formatted(old.day()));

    maker.world.agenda.note(old, lane, here.clock.instant());
    maker.world.sweep();
    runner.world.memory.sweep().sweepWithoutHints();
    runner.world.sweep();
    runner.world.sweep();

    assertThat(maker.world.agenda.takeDue(here.clock.instant(), each -> each == lane))
        .as("what this node will help with")
        .extracting(Agenda.Entry::partition)
        .containsExactly(old);
    assertThat(runner.world.agenda.takeDue(here.clock.instant(), each -> each == lane))
        .as("what its own node has found")
        .extracting(Agenda.Entry::partition)
        .containsExactly(old);
  }

  @Test
  void a_task_due_before_its_day_is_hinted_to_its_owner_and_kept_for_help() {
    Instant nextWeek = here.clock.instant().plus(Duration.ofDays(7));
    TaskId first = here.create(World.task("t", HTTP, nextWeek));
    TaskId second = here.create(World.task("t", HTTP, nextWeek));
    maker.world.catalog.refresh();
    runner.world.catalog.refresh();

    runNow(first);
    runner.hear();
    assertThat(dueAt(runner)).as("not known to be open").isEmpty();
    runner.world.sweep();
    assertThat(dueAt(runner)).as("found, since it is new").containsExactly(first.partition());
    assertThat(dueAt(maker)).as("what this node will help with").containsExactly(first.partition());
    here.cancel(first);

    runNow(second);
    runner.hear();
    assertThat(dueAt(runner)).as("without a sweep").containsExactly(second.partition());
    assertThat(dueAt(maker))
        .as("what this node will help with")
        .containsExactly(second.partition());
  }

  private void runNow(TaskId id) {
    maker.world.db.inTransaction(
        tx -> maker.world.tasks.runNow(tx, World.TENANT, id, "test", null));
    maker.announcer.announceOnce();
  }

  private static List<Partition> dueAt(Node node) {
    return node.world.agenda.takeDue(node.world.clock.instant(), _ -> true).stream()
        .map(Agenda.Entry::partition)
        .toList();
  }

  /** Creates a task in another partition and returns its lane. */
  private int oldTask(Instant then) {
    Partition partition = Partition.of(then);
    here.partitions.ensure(partition);
    here.cancel(here.create(World.task("t", HTTP)));
    maker.world.catalog.refresh();
    runner.world.catalog.refresh();
    int lane = Integer.parseInt(here.value("SELECT id FROM carillon.lane"));
    here.sql(
        """
        INSERT INTO carillon.task (tenant, id, partition, lane, state, due_at, created_at)
        VALUES (1, '%s', DATE '%s', %d, 'COMPLETED', now(), now())
        """
            .formatted(TaskId.at(then, new Random(1)), partition.day(), lane));
    return lane;
  }

  @Test
  void a_reconnected_listener_checks_everything_it_may_have_missed() {
    here.value(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name ="
            + " 'carillon/hints' AND datname = current_database()");

    assertThatThrownBy(
            () -> {
              runner.hear();
              runner.hear();
            })
        .isInstanceOf(StoreException.class);
    runner.hear();

    assertThat(runner.heard).containsExactly(Hint.News.values());
    maker.announcer.announce(Hint.News.MEMBERS);
    maker.announcer.announceOnce();
    runner.hear();
    assertThat(runner.heard).endsWith(Hint.News.MEMBERS);
  }

  @Test
  void a_lost_hint_costs_a_sweep_and_nothing_else() {
    TaskId id = maker.world.create(World.task("t", HTTP)); // no hint is sent
    assertThat(runner.world.agenda.earliest(_ -> true)).isNull();

    runner.world.sweep();

    assertThat(runner.world.agenda.earliest(_ -> true)).isNotNull();
    assertThat(here.state(id)).isEqualTo(TaskState.PENDING);
  }

  @Test
  void invalid_hints_do_no_harm() {
    here.sql("NOTIFY carillon, 'hello'");
    here.sql("NOTIFY carillon, 'x||18262,1,0'"); // a partition that is not there
    String today = String.valueOf(Partition.of(here.clock.instant()).day().toEpochDay());
    here.sql("NOTIFY carillon, 'x||%s,4711,0'".formatted(today)); // a lane that is not there
    maker.announcer.announce(Hint.News.SHARDS);
    maker.announcer.announceOnce();

    await()
        .until(
            () -> {
              runner.hear();
              return runner.heard.contains(Hint.News.SHARDS);
            });

    assertThat(runner.world.agenda.earliest(_ -> true)).isNull();
  }
}
