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
  private Node creator;
  private Node owner;

  /** A process that sends hints and receives them. */
  private static final class Node implements AutoCloseable {
    private final World world;
    private final Hints hints;
    private final Announcer announcer;
    private final HintListener listener;
    private final List<Hint.News> received = new ArrayList<>();

    /**
     * @param owns whether it owns all lanes, or only lanes that do not exist
     */
    Node(World world, String name, boolean owns) {
      this.world = world;
      this.hints = new Hints(world.db, world.address);
      ClusterView view = new ClusterView(null, owns ? -1L : SOME, false);
      this.announcer = new Announcer(name, world.catalog, () -> view, world.clock, hints::send);
      this.listener = new HintListener(name, hints, world.memory, announcer);
      world.signals.membersChanged().add(() -> received.add(Hint.News.MEMBERS));
      world.signals.shardsHinted().add(() -> received.add(Hint.News.SHARDS));
      world.signals.scheduleHinted().add(() -> received.add(Hint.News.SCHEDULES));
      world.agenda.shareWith(announcer);
      world.partitions.ensure(Partition.of(world.clock.instant()));
      world.sweep(); // so that it knows which partitions there are
    }

    /** Waits for a hint, for a second at most. */
    void receive() {
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
    creator = new Node(here.anotherProcess(), "creator", false);
    owner = new Node(here.anotherProcess(), "owner", true);
    assertThat(owner.hints.listen()).isTrue();
  }

  @AfterEach
  void close() {
    creator.close();
    owner.close();
    here.close();
  }

  @Test
  void a_task_created_on_one_node_runs_on_the_owner_of_its_lane_without_a_sweep() {
    World world = owner.world;
    try (ManualNode node = new ManualNode(world, "owner", new FakeDeliverer(), _ -> {})) {
      Claimer claimer = node.claimer(new Seats(10));

      TaskId id = creator.world.create(World.task("of-a-lane-that-owner-has-never-seen", HTTP));
      assertThat(creator.world.agenda.earliest(_ -> true)).isNull();
      creator.announcer.announceOnce();
      owner.receive();

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
    creator.announcer.hint(today, 1, here.clock.instant().plusSeconds(70));
    creator.announcer.announceOnce();
    creator.announcer.announce(Hint.News.SCHEDULES);
    creator.announcer.announceOnce();

    owner.receive();

    assertThat(owner.received).containsExactly(Hint.News.SCHEDULES);
    assertThat(owner.world.agenda.earliest(_ -> true)).isNull();
  }

  @Test
  void tasks_due_within_a_minute_are_hinted() {
    Instant dueAt = here.clock.instant().plusSeconds(30);
    creator.world.create(World.task("t", HTTP, dueAt));
    creator.announcer.announceOnce();

    owner.receive();

    assertThat(owner.world.agenda.earliest(_ -> true)).isBefore(dueAt.plusSeconds(1));
    assertThat(creator.world.agenda.earliest(_ -> true)).isNull();
  }

  @Test
  void a_waiting_worker_gets_a_task_created_on_another_node_without_a_sweep() {
    creator.world.create(World.task("pulled", new Target.Pull()));
    creator.announcer.announceOnce();

    owner.receive();

    assertThat(owner.world.agenda.earliest(_ -> true)).isNotNull();
    assertThat(creator.world.agenda.earliest(_ -> true)).as("for workers here").isNotNull();
  }

  @Test
  void a_single_node_sends_no_hints() {
    List<Hint> sent = new ArrayList<>();
    World alone = creator.world;
    var announcer =
        new Announcer("alone", alone.catalog, () -> ClusterView.ALONE, alone.clock, sent::add);
    alone.agenda.shareWith(announcer);

    alone.create(World.task("pulled", new Target.Pull()));
    alone.create(World.task("pushed", HTTP));
    announcer.announceOnce();

    assertThat(sent).isEmpty();
    assertThat(alone.agenda.earliest(_ -> true)).isNotNull();
  }

  @Test
  void a_node_ignores_its_own_hints() {
    owner.announcer.announce(Hint.News.MEMBERS);
    owner.announcer.announceOnce();
    creator.announcer.announce(Hint.News.SHARDS);
    creator.announcer.announceOnce();

    owner.receive();

    assertThat(owner.received).containsExactly(Hint.News.SHARDS);
  }

  @Test
  void many_hints_are_split_and_the_latest_tasks_are_left_to_sweeps() {
    List<Hint> sent = new ArrayList<>();
    World world = creator.world;
    var announcer =
        new Announcer(
            "creator", world.catalog, () -> ClusterView.without(null), world.clock, sent::add);
    Instant now = here.clock.instant();
    for (int lane = 1; lane <= 11 * Hint.MAX_DUE; lane++) {
      announcer.hint(Partition.of(now), lane, now.plusMillis(lane));
    }
    announcer.announce(Hint.News.SHARDS);

    announcer.announceOnce();
    announcer.announceOnce();

    assertThat(sent).hasSize(10).allMatch(hint -> hint.due().size() == Hint.MAX_DUE);
    assertThat(sent).filteredOn(hint -> !hint.news().isEmpty()).hasSize(1);
    assertThat(sent.stream().flatMap(hint -> hint.due().stream()).map(Hint.Due::lane))
        .doesNotHaveDuplicates()
        .allMatch(lane -> lane <= 10 * Hint.MAX_DUE);
  }

  @Test
  void tasks_back_in_an_old_partition_are_found_within_two_sweeps_without_hints() {
    Instant then = here.clock.instant().minus(Duration.ofDays(3));
    Partition old = Partition.of(then);
    int lane = oldTask(then);
    owner.world.sweep(); // so that a full one is not the next anyway
    here.sql(
        "UPDATE carillon.task SET state = 'PENDING', ready_at = now() WHERE partition = '%s'"
            .formatted(old.day()));

    creator.world.agenda.onReady(old, lane, here.clock.instant());
    creator.world.sweep();
    owner.world.memory.sweep().sweepWithoutHints();
    owner.world.sweep();
    owner.world.sweep();

    assertThat(creator.world.agenda.takeDue(here.clock.instant(), each -> each == lane))
        .as("what this node will help with")
        .extracting(Agenda.Entry::partition)
        .containsExactly(old);
    assertThat(owner.world.agenda.takeDue(here.clock.instant(), each -> each == lane))
        .as("what its own node has found")
        .extracting(Agenda.Entry::partition)
        .containsExactly(old);
  }

  @Test
  void a_task_due_before_its_day_is_hinted_to_its_owner_and_kept_for_help() {
    Instant nextWeek = here.clock.instant().plus(Duration.ofDays(7));
    TaskId first = here.create(World.task("t", HTTP, nextWeek));
    TaskId second = here.create(World.task("t", HTTP, nextWeek));
    creator.world.catalog.refresh();
    owner.world.catalog.refresh();

    runNow(first);
    owner.receive();
    assertThat(dueAt(owner)).as("not known to be open").isEmpty();
    owner.world.sweep();
    assertThat(dueAt(owner)).as("found, since it is new").containsExactly(first.partition());
    assertThat(dueAt(creator))
        .as("what this node will help with")
        .containsExactly(first.partition());
    here.cancel(first);

    runNow(second);
    owner.receive();
    assertThat(dueAt(owner)).as("without a sweep").containsExactly(second.partition());
    assertThat(dueAt(creator))
        .as("what this node will help with")
        .containsExactly(second.partition());
  }

  private void runNow(TaskId id) {
    creator.world.db.inTransaction(
        tx -> creator.world.tasks.runNow(tx, World.TENANT, id, "test", null));
    creator.announcer.announceOnce();
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
    creator.world.catalog.refresh();
    owner.world.catalog.refresh();
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
              owner.receive();
              owner.receive();
            })
        .isInstanceOf(StoreException.class);
    owner.receive();

    assertThat(owner.received).containsExactly(Hint.News.values());
    creator.announcer.announce(Hint.News.MEMBERS);
    creator.announcer.announceOnce();
    owner.receive();
    assertThat(owner.received).endsWith(Hint.News.MEMBERS);
  }

  @Test
  void a_lost_hint_costs_a_sweep_and_nothing_else() {
    TaskId id = creator.world.create(World.task("t", HTTP)); // no hint is sent
    assertThat(owner.world.agenda.earliest(_ -> true)).isNull();

    owner.world.sweep();

    assertThat(owner.world.agenda.earliest(_ -> true)).isNotNull();
    assertThat(here.state(id)).isEqualTo(TaskState.PENDING);
  }

  @Test
  void invalid_hints_do_no_harm() {
    here.sql("NOTIFY carillon, 'hello'");
    here.sql("NOTIFY carillon, 'x||18262,1,0'"); // a partition that is not there
    String today = String.valueOf(Partition.of(here.clock.instant()).day().toEpochDay());
    here.sql("NOTIFY carillon, 'x||%s,4711,0'".formatted(today)); // a lane that is not there
    creator.announcer.announce(Hint.News.SHARDS);
    creator.announcer.announceOnce();

    await()
        .until(
            () -> {
              owner.receive();
              return owner.received.contains(Hint.News.SHARDS);
            });

    assertThat(owner.world.agenda.earliest(_ -> true)).isNull();
  }
}
