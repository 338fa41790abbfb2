package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.model.Signal;
import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import carillon.model.task.TaskState;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Claims that were committed, but whose tasks could not be started or ended in this process. */
class FailedStartTest {

  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);

  private final FakeDeliverer deliverer = new FakeDeliverer();
  private final Signal freed = new Signal();
  private final Seats seats = new Seats(4, 4, 1, freed);
  private final AtomicInteger wakeUps = new AtomicInteger();
  private Consumer<EngineEvent> listener = _ -> {};
  private World world;
  private ManualNode node;

  @BeforeEach
  void open() {
    world = World.create();
    node = new ManualNode(world, "node", deliverer, event -> listener.accept(event));
    freed.add(wakeUps::incrementAndGet);
  }

  @AfterEach
  void close() {
    node.close();
    world.close();
  }

  static Stream<Throwable> failures() {
    return Stream.of(new IllegalStateException("no"), new OutOfMemoryError("no thread"));
  }

  private static RuntimeException thrown(Throwable failure) {
    if (failure instanceof Error error) {
      throw error;
    }
    return (RuntimeException) failure;
  }

  private List<TaskId> createDue(int tasks) {
    List<TaskId> ids =
        Stream.generate(() -> world.create(World.task("t", HTTP))).limit(tasks).toList();
    String ready = "SELECT count(*) FROM carillon.task WHERE ready_at <= now()";
    await().until(() -> world.value(ready).equals(Integer.toString(tasks)));
    return ids;
  }

  private void assertAllReturned(List<TaskId> ids) {
    assertThat(seats.taken()).as("seats").isZero();
    assertThat(seats.waitingToBeSaved()).isZero();
    assertThat(wakeUps)
        .as("wake-ups, which would shorten the delay of the failed loop")
        .hasValue(0);
    node.findLostClaims();
    assertThat(ids).extracting(world::state).containsOnly(TaskState.PENDING);
    assertThat(world.value("SELECT count(*) FROM carillon.claim")).isEqualTo("0");
  }

  @ParameterizedTest
  @MethodSource("failures")
  void a_failed_start_returns_its_seats_and_tasks(Throwable failure) {
    List<TaskId> ids = createDue(4);
    Claimer claimer =
        node.claimer(
            seats,
            Claimer.Lanes.ALL,
            (_, _) -> {
              throw thrown(failure);
            });

    assertThatThrownBy(claimer::claimOnce).isSameAs(failure);

    assertAllReturned(ids);
  }

  @Test
  void a_throwing_event_listener_leaks_no_seats() {
    listener =
        event -> {
          if (event instanceof EngineEvent.Claimed) {
            throw new IllegalStateException("cannot count");
          }
        };
    List<TaskId> ids = createDue(2);

    assertThatThrownBy(node.claimer(seats)::claimOnce).hasMessage("cannot count");

    assertThat(deliverer.delivered()).isEmpty();
    assertAllReturned(ids);
  }

  @Test
  void seats_of_a_failed_start_are_not_returned_twice() {
    List<TaskId> ids = createDue(3);
    Claimer claimer =
        node.claimer(
            seats,
            Claimer.Lanes.ALL,
            (tasks, name) -> {
              node.dispatcher.discard(tasks.subList(0, 1)); // adds an outcome at once
              throw new IllegalStateException("after the first of " + name);
            });

    assertThatThrownBy(claimer::claimOnce).hasMessageContaining("after the first");

    assertThat(seats.free()).isEqualTo(4);
    node.completer.flushOnce();
    assertThat(seats.free()).isEqualTo(4);
    node.findLostClaims();
    assertThat(ids).extracting(world::state).containsOnly(TaskState.PENDING);
  }

  @Test
  void a_failed_start_does_not_block_claims_of_other_days() {
    TaskId today = createDue(1).getFirst();
    TaskId tomorrow =
        world.create(World.task("t", HTTP, world.clock.instant().plus(Duration.ofDays(1))));
    world.sql("UPDATE carillon.task SET ready_at = now() - interval '1 s' WHERE due_at > now()");
    world.agenda.found(
        tomorrow.partition(), world.catalog.lanes().iterator().next().id(), Instant.EPOCH);
    AtomicInteger starts = new AtomicInteger();
    Claimer claimer =
        node.claimer(
            seats,
            Claimer.Lanes.ALL,
            (tasks, name) -> {
              if (starts.incrementAndGet() == 1) {
                throw new OutOfMemoryError("no thread");
              }
              node.dispatcher.send(tasks, name);
            });

    assertThatThrownBy(claimer::claimOnce).isInstanceOf(OutOfMemoryError.class);

    await().until(() -> !deliverer.delivered().isEmpty());
    assertThat(deliverer.delivered()).extracting(ClaimedTask::id).containsExactly(tomorrow);
    assertThat(world.state(today)).isEqualTo(TaskState.RUNNING); // until LostClaims finds it
  }

  @Test
  void a_task_that_cannot_be_started_is_released_and_its_attempt_does_not_count() {
    TaskId id = createDue(1).getFirst();
    node.dispatcher.interrupt(); // accepts no more tasks

    node.claimer(seats).claimOnce();
    node.completer.flushOnce();

    assertThat(world.state(id)).isEqualTo(TaskState.PENDING);
    assertThat(world.find(id).attempt()).isZero();
    assertThat(seats.taken()).isZero();
  }

  @Test
  void an_attempt_without_a_result_frees_its_seat_and_its_task() {
    deliverer.respondWith(_ -> noResult());
    TaskId id = createDue(1).getFirst();

    node.claimer(seats).claimOnce();

    await().until(() -> seats.taken() + seats.waitingToBeSaved() == 0);
    assertThat(deliverer.delivered()).hasSize(1);
    node.findLostClaims();
    assertThat(world.state(id)).isEqualTo(TaskState.PENDING);
  }

  /** Simulates a bug in the code that turns a result into an outcome: no deliverer returns null. */
  @SuppressWarnings("NullAway")
  private static DeliveryResult noResult() {
    return null;
  }

  @Test
  void an_outcome_is_saved_even_if_the_event_listener_throws() {
    listener =
        event -> {
          if (event instanceof EngineEvent.Delivered) {
            throw new IllegalStateException("cannot count");
          }
        };
    TaskId id = createDue(1).getFirst();

    node.claimer(seats).claimOnce();

    await().until(() -> seats.waitingToBeSaved() == 1);
    node.completer.flushOnce();
    assertThat(world.state(id)).isEqualTo(TaskState.COMPLETED);
    assertThat(seats.taken()).isZero();
  }
}
