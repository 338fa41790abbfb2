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

/** Hints between nodes. The tests run all passes, and no node sweeps unless a test asks for it. */
@Tag("slow")
class HintsTest {

  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);

  /** The bit of the shard with lanes 0, 64 and so on, which no test creates. */
  private static final long UNUSED_SHARD = 1;

  private World here;
  private Node creator;
  private Node owner;

  /** A process that sends and receives hints. */
  private static final class Node implements AutoCloseable {
    private final World world;
    private final Hints hints;
    private final Announcer announcer;
    private final HintListener listener;
    private final List<Hint.News> received = new ArrayList<>();

    /**
     * @param ownsAll whether the node owns all lanes, or only lanes that no test creates
     */
    Node(World world, String name, boolean ownsAll) {
      this.world = world;
      this.hints = new Hints(world.db, world.address);
      ClusterView view = new ClusterView(null, ownsAll ? -1L : UNUSED_SHARD, false);
      this.announcer = new Announcer(name, world.catalog, () -> view, world.clock, hints::send);
      this.listener = new HintListener(name, hints, world.memory, announcer);
      world.signals.membersChanged().add(() -> received.add(Hint.News.MEMBERS));
      world.signals.shardsHinted().add(() -> received.add(Hint.News.SHARDS));
      world.signals.scheduleHinted().add(() -> received.add(Hint.News.SCHEDULES));
      world.agenda.shareWith(announcer);
      world.partitions.ensure(Partition.of(world.clock.instant()));
      world.sweep(); // discovers the partitions
    }

    /** Waits up to a second for a hint. */
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

      TaskId id = creator.world.create(World.task("in-a-lane-that-is-new-to-the-owner", HTTP));
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
  void tasks_due_in_more_than_a_minute_are_not_hinted() {
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
    assertThat(creator.world.agenda.earliest(_ -> true))
        .as("for the workers of this node")
        .isNotNull();
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
  void two_sweeps_without_hints_find_tasks_that_return_to_an_old_partition() {
    Instant then = here.clock.instant().minus(Duration.ofDays(3));
    Partition old = Partition.of(then);
    int lane = createInPartitionOf(then);
    owner.world.sweep(); // otherwise the next sweep would be a full one anyway
    here.sql(
        "UPDATE carillon.task SET state = 'PENDING', ready_at = now() WHERE partition = '%s'"
            .formatted(old.day()));

    creator.world.agenda.onReady(old, lane, here.clock.instant());
    creator.world.sweep();
    owner.world.memory.sweep().sweepWithoutHints();
    owner.world.sweep();
    owner.world.sweep();

    assertThat(creator.world.agenda.takeDue(here.clock.instant(), each -> each == lane))
        .as("partitions that the creator will help with")
        .extracting(Agenda.Entry::partition)
        .containsExactly(old);
    assertThat(owner.world.agenda.takeDue(here.clock.instant(), each -> each == lane))
        .as("partitions that the owner has found")
        .extracting(Agenda.Entry::partition)
        .containsExactly(old);
  }

  @Test
  void a_task_run_before_its_day_is_hinted_to_its_owner_and_remembered_for_help() {
    Instant nextWeek = here.clock.instant().plus(Duration.ofDays(7));
    TaskId first = here.create(World.task("t", HTTP, nextWeek));
    TaskId second = here.create(World.task("t", HTTP, nextWeek));
    creator.world.catalog.refresh();
    owner.world.catalog.refresh();

    runNow(first);
    owner.receive();
    assertThat(takeDue(owner)).as("the owner does not know the partition yet").isEmpty();
    owner.world.sweep();
    assertThat(takeDue(owner))
        .as("a sweep finds a new partition")
        .containsExactly(first.partition());
    assertThat(takeDue(creator))
        .as("partitions that the creator will help with")
        .containsExactly(first.partition());
    here.cancel(first);

    runNow(second);
    owner.receive();
    assertThat(takeDue(owner)).as("without a sweep").containsExactly(second.partition());
    assertThat(takeDue(creator))
        .as("partitions that the creator will help with")
        .containsExactly(second.partition());
  }

  private void runNow(TaskId id) {
    creator.world.db.inTransaction(
        tx -> creator.world.tasks.runNow(tx, World.TENANT, id, "test", null));
    creator.announcer.announceOnce();
  }

  private static List<Partition> takeDue(Node node) {
    return node.world.agenda.takeDue(node.world.clock.instant(), _ -> true).stream()
        .map(Agenda.Entry::partition)
        .toList();
  }

  /** Creates a completed task in the partition of a time, and returns its lane. */
  private int createInPartitionOf(Instant then) {
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
  void a_sweep_finds_a_task_whose_hint_was_lost() {
    TaskId id = creator.world.create(World.task("t", HTTP)); // no hint is sent
    assertThat(owner.world.agenda.earliest(_ -> true)).isNull();

    owner.world.sweep();

    assertThat(owner.world.agenda.earliest(_ -> true)).isNotNull();
    assertThat(here.state(id)).isEqualTo(TaskState.PENDING);
  }

  @Test
  void invalid_hints_are_ignored() {
    here.sql("NOTIFY carillon, 'hello'");
    here.sql("NOTIFY carillon, 'x||18262,1,0'"); // a partition that does not exist
    String today = String.valueOf(Partition.of(here.clock.instant()).day().toEpochDay());
    here.sql("NOTIFY carillon, 'x||%s,4711,0'".formatted(today)); // a lane that does not exist
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
