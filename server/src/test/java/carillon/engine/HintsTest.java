package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.model.Hint;
import carillon.model.NodeLease;
import carillon.model.Slot;
import carillon.model.Target;
import carillon.model.TaskId;
import carillon.model.TaskState;
import carillon.store.Hints;
import carillon.store.StoreException;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.World;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What nodes tell one another; the loops are run by hand, and nobody sweeps unless said so. */
class HintsTest {

  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);

  private World here;
  private Node maker;
  private Node runner;

  /** A process that tells, and one that hears. */
  private static final class Node implements AutoCloseable {
    private final World world;
    private final Hints hints;
    private final Announcer announcer;
    private final Listener listener;
    private final List<Hint.News> heard = new ArrayList<>();

    /**
     * @param owns whether it looks after all lanes, or after none
     */
    Node(World world, String name, boolean owns) {
      this.world = world;
      this.hints = new Hints(world.db, world.address);
      this.announcer = new Announcer(name, world.catalog, _ -> owns, world.clock, hints::send);
      this.listener =
          new Listener(name, hints, world.queue, world.catalog, world.agenda, announcer);
      for (Hint.News news : Hint.News.values()) {
        listener.when(news, () -> heard.add(news));
      }
      world.agenda.shareWith(announcer);
      world.slots.ensure(Slot.of(world.clock.instant()));
      world.queue.sweep(world.clock.instant()); // so that it knows which slots there are
    }

    /** Waits until it has heard something, for a second at most. */
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
  void a_task_made_on_one_node_runs_on_the_node_of_its_lane_without_a_sweep() {
    World world = runner.world;
    world.node("runner");
    Supplier<NodeLease> lease =
        () -> NodeLease.renewed("runner", System.nanoTime(), Duration.ofMinutes(1));
    Completer completer = new Completer(world.endings, lease, _ -> {});
    Dispatcher dispatcher =
        new Dispatcher(new FakeDeliverer(), lease, completer, world.clock, _ -> {});
    Claimer claimer =
        new Claimer(
            world.queue,
            world.catalog,
            world.agenda,
            world.clock,
            lease,
            new Seats(10),
            Claimer.Lanes.ALL,
            dispatcher::send,
            completer,
            _ -> {});

    TaskId id = maker.world.create(World.task("of-a-lane-that-runner-has-never-seen", HTTP));
    assertThat(maker.world.agenda.earliest(_ -> true)).isNull();
    maker.announcer.announceOnce();
    runner.hear();

    await()
        .until(
            () -> {
              claimer.claimOnce();
              completer.flushOnce();
              return world.state(id) == TaskState.COMPLETED;
            });
    dispatcher.close();
  }

  @Test
  void what_is_due_much_later_or_is_for_workers_is_not_told() {
    maker.world.create(World.task("t", HTTP, here.clock.instant().plusSeconds(30)));
    maker.world.create(World.task("pulled", new Target.Pull()));
    maker.announcer.announceOnce();
    maker.announcer.tell(Hint.News.SCHEDULES);
    maker.announcer.announceOnce();

    runner.hear();

    assertThat(runner.heard).containsExactly(Hint.News.SCHEDULES);
    assertThat(runner.world.agenda.earliest(_ -> true)).isNull();
    assertThat(maker.world.agenda.earliest(_ -> true)).as("for workers here").isNotNull();
  }

  @Test
  void a_node_does_not_hear_itself() {
    runner.announcer.tell(Hint.News.MEMBERS);
    runner.announcer.announceOnce();
    maker.announcer.tell(Hint.News.SHARDS);
    maker.announcer.announceOnce();

    runner.hear();

    assertThat(runner.heard).containsExactly(Hint.News.SHARDS);
  }

  @Test
  void much_at_once_is_not_listed() {
    for (int lane = 1; lane <= Hint.MOST_DUE + 1; lane++) {
      maker.announcer.hear(Slot.of(here.clock.instant()), lane, here.clock.instant());
    }
    maker.announcer.announceOnce();

    runner.hear();

    assertThat(runner.heard).containsExactly(Hint.News.MUCH);
  }

  @Test
  void who_was_cut_off_listens_again_and_looks_at_everything_it_may_have_missed() {
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
    maker.announcer.tell(Hint.News.MEMBERS);
    maker.announcer.announceOnce();
    runner.hear();
    assertThat(runner.heard).endsWith(Hint.News.MEMBERS);
  }

  @Test
  void a_lost_hint_costs_a_sweep_and_nothing_else() {
    TaskId id = maker.world.create(World.task("t", HTTP)); // nobody is told
    assertThat(runner.world.agenda.earliest(_ -> true)).isNull();

    runner.world.queue.sweep(here.clock.instant());

    assertThat(runner.world.agenda.earliest(_ -> true)).isNotNull();
    assertThat(here.state(id)).isEqualTo(TaskState.PENDING);
  }

  @Test
  void nonsense_from_whoever_may_write_to_the_database_does_no_harm() {
    here.sql("NOTIFY carillon, 'hello'");
    here.sql("NOTIFY carillon, 'x||18262,1,0'"); // a slot that is not there
    String today = String.valueOf(Slot.of(here.clock.instant()).day().toEpochDay());
    here.sql("NOTIFY carillon, 'x||%s,4711,0'".formatted(today)); // a lane that is not there
    maker.announcer.tell(Hint.News.SHARDS);
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
