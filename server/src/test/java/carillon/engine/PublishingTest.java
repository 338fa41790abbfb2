package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.delivery.MessageHeaders;
import carillon.engine.upkeep.Reaper;
import carillon.model.TaskId;
import carillon.model.cluster.ClusterView;
import carillon.model.cluster.NodeLease;
import carillon.model.target.BrokerName;
import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import carillon.model.task.Callbacks;
import carillon.model.task.ClaimToken;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Lease;
import carillon.model.task.TaskState;
import carillon.store.catalog.Types;
import carillon.store.queue.PullQueue;
import carillon.store.queue.WorkReport;
import carillon.store.tasks.TaskView;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.FakePublisher;
import carillon.testkit.World;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tasks with a broker as their target: claims, confirms and reports. */
class PublishingTest {

  private static final BrokerName MAIN = new BrokerName(BrokerName.Kind.KAFKA, "main");
  private static final BrokerName OTHER = new BrokerName(BrokerName.Kind.RABBITMQ, "main");
  private static final Target ON_PUBLISH = kafka(Target.Complete.ON_PUBLISH, null);
  private static final Target ON_REPORT = kafka(Target.Complete.ON_REPORT, null);
  private static final DeliveryResult CONFIRMED = new DeliveryResult.Accepted(null, null);
  private static final DeliveryResult LOST =
      new DeliveryResult.Unreached(Failure.of(FailureKind.BROKER_LOST, "no answer"));
  private static final Duration A_MINUTE = Duration.ofMinutes(1);

  private final FakePublisher broker = new FakePublisher(MAIN);
  private final FakePublisher other = new FakePublisher(OTHER);
  private final FakeDeliverer deliverer = new FakeDeliverer();
  private Consumer<EngineEvent> listener = _ -> {};
  private World world;
  private @Nullable Engine engine;

  private static Target kafka(Target.Complete complete, Target.@Nullable DepthLimit depth) {
    return new Target.Kafka("main", "orders", complete, depth);
  }

  @BeforeEach
  void open() {
    world = World.create();
    world.node("node");
  }

  @AfterEach
  void close() throws InterruptedException {
    stop();
    world.close();
  }

  private void stop() throws InterruptedException {
    if (engine != null) {
      engine.stop();
      engine = null;
    }
  }

  private void start() {
    engine =
        Engines.start(
            world,
            "node",
            new Engine.Transports(deliverer, List.of(broker, other)),
            () -> new ClusterView(null, -1L, false),
            new EngineConfig(50, Duration.ZERO, 3, A_MINUTE),
            event -> listener.accept(event));
  }

  private void type(String name, Target target, Duration lease) {
    world
        .store
        .types()
        .put(
            World.TENANT,
            name,
            new Types.Settings(
                target,
                null,
                null,
                lease,
                null,
                null,
                false,
                null,
                Callbacks.NONE,
                StatusRules.DEFAULT,
                null),
            "test",
            null);
  }

  private List<Boolean> report(TaskId id, Lease lease) {
    var report = new WorkReport(id, lease, WorkReport.Kind.COMPLETED, "\"done\"", null, null, null);
    return world.db.inTransaction(
        tx ->
            world
                .store
                .pullQueue()
                .report(tx, World.TENANT, List.of(report), List.of(), "consumer"));
  }

  private void awaitState(TaskId id, TaskState state) {
    await().untilAsserted(() -> assertThat(world.state(id)).isEqualTo(state));
  }

  private ClaimedTask awaitPublished(int number) {
    await().until(() -> broker.published().size() >= number);
    return broker.published().get(number - 1);
  }

  private void awaitNothingInFlight() {
    await().until(() -> engine != null && engine.inFlight() == 0);
  }

  private String claims() {
    return world.value("SELECT count(*) FROM carillon.claim");
  }

  @Test
  void a_task_completes_only_when_the_broker_has_confirmed_it() {
    broker.hold();
    TaskId id = world.create(World.task("t", ON_PUBLISH));
    start();

    ClaimedTask sent = awaitPublished(1);
    assertThat(sent.leaseUntil()).isNull();
    assertThat(MessageHeaders.of(sent, MessageHeaders.body(sent), world.clock.instant()))
        .containsEntry("Carillon-Fence", "1")
        .doesNotContainKey("Carillon-Token");
    assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);

    broker.end(new DeliveryResult.Accepted(null, "{\"offset\":17}"));
    awaitState(id, TaskState.COMPLETED);
    assertThat(world.find(id).last().output()).isEqualTo("{\"offset\":17}");
    awaitNothingInFlight();
    assertThat(claims()).isEqualTo("0");
  }

  @Test
  void a_confirm_returns_its_seat_even_if_the_event_listener_throws() {
    TaskId id = world.create(World.task("t", ON_REPORT));
    listener =
        event -> {
          if (event instanceof EngineEvent.Delivered) {
            throw new IllegalStateException("cannot count");
          }
        };
    start();

    ClaimedTask sent = awaitPublished(1);

    awaitNothingInFlight();
    assertThat(report(id, sent.lease())).containsExactly(true);
  }

  @Test
  void an_unreachable_broker_delays_only_its_own_lanes() {
    broker.reachable(false);
    TaskId waiting = world.create(World.task("t", ON_PUBLISH));
    TaskId ofType = createWithType("typed", ON_REPORT);
    start();
    TaskId rabbit =
        world.create(
            World.task(
                "t", new Target.RabbitMq("main", "", "q", Target.Complete.ON_PUBLISH, null)));
    TaskId http =
        world.create(
            World.task("t", new Target.Http("https://example.com/", "POST", Map.of(), null, null)));
    TaskId discarded = world.create(World.task("discarded", new Target.Discard()));

    awaitState(rabbit, TaskState.COMPLETED);
    awaitState(http, TaskState.COMPLETED);
    awaitState(discarded, TaskState.COMPLETED);
    for (TaskId id : List.of(waiting, ofType)) {
      assertThat(world.find(id).state()).isEqualTo(TaskState.PENDING);
      assertThat(world.find(id).attempt()).isZero();
    }

    broker.reachable(true);
    awaitState(waiting, TaskState.COMPLETED);
    awaitState(ofType, TaskState.RUNNING);
  }

  private TaskId createWithType(String type, Target target) {
    type(type, target, A_MINUTE);
    return world.create(World.task(type, null));
  }

  @Test
  void a_message_that_did_not_reach_the_broker_costs_no_attempt() {
    broker.hold();
    List<TaskId> ids =
        List.of(
            world.create(World.task("t", ON_PUBLISH)), world.create(World.task("t", ON_REPORT)));
    start();
    await().until(() -> broker.published().size() == 2);

    broker.reachable(false);
    broker.end(LOST);

    for (TaskId id : ids) {
      awaitState(id, TaskState.PENDING);
      assertThat(world.find(id).attempt()).isZero();
    }
    assertThat(delayed())
        .as("tasks with a delay, so that they are not published in a loop")
        .isEqualTo("2");
    awaitNothingInFlight();
    world.sql("UPDATE carillon.task SET ready_at = now()"); // the sweep finds them
    broker.reachable(true);
    await().until(() -> broker.published().size() == 4);
    assertThat(broker.published().subList(2, 4))
        .allSatisfy(
            again -> {
              assertThat(again.lease().fence()).isEqualTo(2);
              assertThat(again.attempt()).isEqualTo(1);
            });
  }

  private String delayed() {
    return world.value(
        """
        SELECT count(*) FROM carillon.task
        WHERE ready_at BETWEEN now() + interval '1s' AND now() + interval '10s'
        """);
  }

  @Test
  void nothing_is_claimed_for_a_full_broker_whether_the_task_or_its_type_names_it() {
    broker.maxInFlight(0);
    TaskId own = world.create(World.task("t", ON_PUBLISH));
    TaskId ofType = createWithType("typed", ON_PUBLISH);
    start();
    TaskId rabbit =
        world.create(
            World.task(
                "t", new Target.RabbitMq("main", "", "q", Target.Complete.ON_PUBLISH, null)));
    awaitState(rabbit, TaskState.COMPLETED);
    assertThat(broker.published()).isEmpty();
    assertThat(world.state(own)).isEqualTo(TaskState.PENDING);
    assertThat(world.state(ofType)).isEqualTo(TaskState.PENDING);

    broker.maxInFlight(Integer.MAX_VALUE);
    awaitState(own, TaskState.COMPLETED);
    awaitState(ofType, TaskState.COMPLETED);
  }

  @Test
  void claims_of_one_pass_share_the_free_room_of_a_broker() {
    broker.hold();
    broker.maxInFlight(1);
    world.create(World.task("t", ON_PUBLISH));
    world.create(World.task("t", ON_REPORT)); // claimed with another statement
    start();

    awaitPublished(1);
    assertThat(running()).isEqualTo("1");
    broker.end(CONFIRMED);
    broker.maxInFlight(1); // signals that there is room
    awaitPublished(2);
  }

  private String running() {
    return world.value("SELECT count(*) FROM carillon.every_task WHERE state = 'RUNNING'");
  }

  @Test
  void a_message_that_is_never_confirmed_costs_no_attempt() {
    broker.hold();
    broker.confirmTimeout(A_MINUTE);
    Duration lease = Duration.ofSeconds(20);
    type("t", ON_REPORT, lease);
    TaskId id = world.create(World.task("t", null));
    start();
    ClaimedTask sent = awaitPublished(1);
    assertThat(sent.leaseUntil())
        .isBetween(
            sent.claimedAt().plus(A_MINUTE).plus(lease).minusMillis(500),
            sent.claimedAt().plus(A_MINUTE).plus(lease).plusMillis(500));

    // As if the publisher's confirm timeout had passed.
    endLeasesSooner("60s");
    reaper().reapOnce();
    broker.reachable(false);
    broker.end(LOST);

    awaitState(id, TaskState.PENDING);
    assertThat(world.find(id).attempt()).isZero();
  }

  private void endLeasesSooner(String by) {
    world.sql(
        """
        UPDATE carillon.claim
        SET lease_until = lease_until - interval '%1$s',
            check_at = check_at - interval '%1$s'
        """
            .formatted(by));
  }

  private Reaper reaper() {
    return new Reaper(
        world.store.claims(),
        world.store.nodes(),
        () -> NodeLease.renewed("node", System.nanoTime(), A_MINUTE),
        new ReapDecision(world.clock, 3),
        _ -> {});
  }

  @Test
  void a_report_before_the_confirm_is_accepted_and_the_confirm_writes_nothing() {
    broker.hold();
    TaskId id = world.create(World.task("t", ON_REPORT));
    start();
    ClaimedTask sent = awaitPublished(1);
    Map<String, String> headers =
        MessageHeaders.of(sent, MessageHeaders.body(sent), world.clock.instant());
    Lease received = ClaimToken.parse(String.valueOf(headers.get("Carillon-Token"))).orElseThrow();

    assertThat(report(id, received)).containsExactly(true);
    TaskView reported = world.find(id);
    broker.end(CONFIRMED);
    awaitNothingInFlight();

    assertThat(world.find(id)).isEqualTo(reported);
    assertThat(reported.state()).isEqualTo(TaskState.COMPLETED);
    assertThat(reported.last().output()).isEqualTo("\"done\"");
    assertThat(claims()).isEqualTo("0");
  }

  @Test
  void a_publish_that_fails_after_the_report_changes_nothing() {
    broker.hold();
    TaskId id = world.create(World.task("t", ON_REPORT));
    start();
    ClaimedTask sent = awaitPublished(1);
    assertThat(report(id, sent.lease())).containsExactly(true);
    TaskView reported = world.find(id);

    broker.end(
        new DeliveryResult.Refused(Failure.of(FailureKind.BROKER_REFUSED, "it is too large")));
    awaitNothingInFlight();

    assertThat(world.find(id)).isEqualTo(reported);
    assertThat(claims()).isEqualTo("0");
  }

  @Test
  void a_confirm_returns_the_seat_and_leaves_the_task_to_its_consumer() {
    TaskId id = world.create(World.task("t", ON_REPORT));
    start();
    ClaimedTask sent = awaitPublished(1);
    awaitNothingInFlight();

    TaskView running = world.find(id);
    assertThat(running.state()).isEqualTo(TaskState.RUNNING);
    assertThat(running.leasedBy()).isEqualTo("kafka/main");
    assertThat(running.leaseUntil()).isEqualTo(sent.leaseUntil());
    assertThat(claims()).isEqualTo("1");

    List<PullQueue.RenewResult> renewed =
        world.db.inTransaction(
            tx ->
                world
                    .store
                    .pullQueue()
                    .renew(
                        tx,
                        World.TENANT,
                        List.of(new PullQueue.Renewal(id, sent.lease())),
                        _ -> true,
                        A_MINUTE));
    assertThat(renewed.getFirst().renewed()).isEqualTo(PullQueue.Renewed.RENEWED);
    assertThat(report(id, sent.lease())).containsExactly(true);
    assertThat(report(id, sent.lease())).containsExactly(false);
    assertThat(world.state(id)).isEqualTo(TaskState.COMPLETED);
    assertThat(claims()).isEqualTo("0");
  }

  @Test
  void a_task_with_a_lapsed_lease_is_published_again_and_its_old_token_is_stale() {
    type("t", ON_REPORT, Duration.ofSeconds(1));
    TaskId id = world.create(World.task("t", null));
    start();
    ClaimedTask first = awaitPublished(1);

    endLeasesSooner("2s");
    reaper().reapOnce();

    ClaimedTask second = awaitPublished(2);
    assertThat(second.id()).isEqualTo(first.id());
    assertThat(second.lease().fence()).isGreaterThan(first.lease().fence());
    assertThat(second.attempt()).isEqualTo(2);
    assertThat(report(id, first.lease())).containsExactly(false);
    assertThat(report(id, second.lease())).containsExactly(true);
    assertThat(world.state(id)).isEqualTo(TaskState.COMPLETED);
  }

  @Test
  void a_stop_releases_unconfirmed_tasks() throws InterruptedException {
    broker.hold();
    List<TaskId> ids =
        List.of(
            world.create(World.task("t", ON_PUBLISH)), world.create(World.task("t", ON_REPORT)));
    start();
    await().until(() -> broker.published().size() == 2);

    stop();

    for (TaskId id : ids) {
      assertThat(world.find(id).state()).isEqualTo(TaskState.PENDING);
      assertThat(world.find(id).attempt()).isZero();
    }
    assertThat(claims()).isEqualTo("0");
  }

  @Test
  void at_most_as_many_tasks_are_claimed_as_the_queue_has_room_for() {
    broker.room(3);
    type("t", kafka(Target.Complete.ON_PUBLISH, new Target.DepthLimit(3, "group")), A_MINUTE);
    for (int i = 0; i < 8; i++) {
      world.create(World.task("t", null));
    }
    TaskId free = world.create(World.task("t", ON_PUBLISH));
    start();

    awaitState(free, TaskState.COMPLETED);
    await().untilAsserted(() -> assertThat(completed("t")).isEqualTo(4));
    assertThat(broker.published()).hasSize(4);

    broker.room(2);
    await().untilAsserted(() -> assertThat(completed("t")).isEqualTo(6));
    assertThat(broker.published()).hasSize(6);
    broker.room(Integer.MAX_VALUE);
    await().untilAsserted(() -> assertThat(completed("t")).isEqualTo(9));
  }

  private int completed(String type) {
    return Integer.parseInt(
        world.value(
            """
            SELECT count(*) FROM carillon.task t JOIN carillon.lane l ON l.id = t.lane
            WHERE l.type = '%s' AND t.state = 'COMPLETED'
            """
                .formatted(type)));
  }

  @Test
  void a_task_whose_target_changed_before_the_claim_is_not_published() {
    broker.hold();
    var node =
        new ManualNode(
            world,
            () -> NodeLease.renewed("node", System.nanoTime(), A_MINUTE),
            deliverer,
            _ -> {});
    var publishing = new BrokerStarter(broker, world.catalog, node.dispatcher, node.completer);
    type("t", ON_PUBLISH, A_MINUTE);
    List<Target> changes =
        List.of(
            ON_REPORT,
            new Target.Pull(),
            new Target.Http("https://example.com/", "POST", Map.of(), null, null),
            new Target.Kafka("elsewhere", "orders", Target.Complete.ON_PUBLISH, null));
    for (Target changed : changes) {
      TaskId id = world.create(World.task("t", null));
      type("t", changed, A_MINUTE);
      ClaimedTask claimed = world.claimOne("node"); // as a task that completes on publish
      node.expect(claimed.lease().claim(), 1, new Seats(1));

      publishing.start(List.of(claimed), "node");
      node.completer.flushOnce();

      assertThat(world.find(id).state()).as(changed.toString()).isEqualTo(TaskState.PENDING);
      assertThat(world.find(id).attempt()).isZero();
      world.cancel(id);
    }
    assertThat(broker.published()).isEmpty();
  }

  @Test
  void tasks_claimed_under_a_lost_lease_are_not_published() {
    NodeLease now = NodeLease.renewed("another", System.nanoTime(), A_MINUTE);
    var node = new ManualNode(world, () -> now, deliverer, _ -> {});
    world.create(World.task("t", ON_PUBLISH));
    ClaimedTask claimed = world.claimOne("node");
    node.expect(claimed.lease().claim(), 1, new Seats(1));

    new BrokerStarter(broker, world.catalog, node.dispatcher, node.completer)
        .start(List.of(claimed), "node");

    assertThat(broker.published()).isEmpty();
  }
}
