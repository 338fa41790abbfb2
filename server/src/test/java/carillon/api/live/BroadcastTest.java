package carillon.api.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.http.Auth;
import carillon.api.http.Caller;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Permission;
import carillon.api.http.Role;
import carillon.model.KeyText;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.AlertSetting;
import carillon.model.task.TaskState;
import carillon.store.catalog.Tenant;
import carillon.store.catalog.TenantLimits;
import carillon.store.stats.ActivityReader;
import carillon.store.stats.Events;
import carillon.store.stats.StatsReader;
import carillon.testkit.World;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Streams of events and statistics. The tests run the passes, at times that they set. */
class BroadcastTest {

  private static final EventStream.Filter ALL = new EventStream.Filter(null, Set.of(), false);

  private World world;
  private final AtomicInteger statsReads = new AtomicInteger();
  private final AtomicReference<Set<Viewer>> readViewers = new AtomicReference<>(Set.of());
  private Broadcast broadcast;
  private final Random random = new Random(1);
  private long now = System.nanoTime();

  @BeforeEach
  void open() {
    world = World.create();
    broadcast = broadcast();
  }

  private Broadcast broadcast() {
    return broadcast(this::readStats);
  }

  private Broadcast broadcast(Function<Set<Viewer>, Map<Viewer, String>> stats) {
    return new Broadcast(
        world.store.events(),
        world.store.keys(),
        stats,
        new DatabaseGate(world.db, 4),
        world.clock);
  }

  /** Returns statistics of one tenant only. */
  private Map<Viewer, String> readStats(Set<Viewer> viewers) {
    statsReads.incrementAndGet();
    readViewers.set(viewers);
    Map<Viewer, String> json = new HashMap<>();
    for (Viewer viewer : viewers) {
      if (viewer.tenant().equals(World.TENANT)) {
        json.put(
            viewer, viewer.isLimited() ? "{\"of\":\"" + viewer.types() + "\"}" : "{\"all\":true}");
      }
    }
    return json;
  }

  @AfterEach
  void close() {
    broadcast.close();
    world.close();
  }

  private static Caller caller(int tenant, String... types) {
    return new Caller(
        "admin",
        "test",
        Role.VIEWER,
        List.of(types),
        new Tenant(
            new TenantId(tenant),
            "t" + tenant,
            false,
            false,
            1,
            new AlertSetting.Off(),
            null,
            TenantLimits.Own.NONE));
  }

  private EventStream watch(Caller caller, EventStream.Filter filter) {
    return broadcast.open(caller, () -> caller, filter);
  }

  /** Runs a pass, this long after the previous one. */
  private void pass(Duration later) {
    now += later.toNanos();
    broadcast.passOnce(now);
  }

  private void pass() {
    pass(Broadcast.PASS_INTERVAL);
  }

  /** Returns everything that a stream has sent so far, and an end mark. */
  private static String rest(EventStream stream) {
    var out = new ByteArrayOutputStream();
    Thread reader = Thread.ofVirtual().start(() -> write(stream, out, Duration.ofMinutes(1)));
    stream.add("the end".getBytes(StandardCharsets.UTF_8));
    await().until(() -> out.toString(StandardCharsets.UTF_8).endsWith("the end"));
    reader.interrupt();
    return out.toString(StandardCharsets.UTF_8);
  }

  private TaskId writeEvent(int tenant, String type) {
    return writeEvent(tenant, type, world.clock.instant());
  }

  private TaskId writeEvent(int tenant, String type, Instant at) {
    TaskId id = TaskId.at(at, random);
    var change = new Events.Change(id, type, TaskState.PENDING, TaskState.RUNNING, 1);
    world
        .store
        .events()
        .write(List.of(new Events.Event(new TenantId(tenant), at, change, 0)), "another");
    return id;
  }

  @Test
  void a_stream_gets_each_new_event_once() {
    writeEvent(1, "before");
    EventStream stream = watch(caller(1), ALL);
    pass();
    Instant at = Instant.parse("2027-01-31T08:00:00.123Z");
    TaskId id = writeEvent(1, "mail", at);
    pass();
    pass();

    assertThat(rest(stream))
        .isEqualTo(
            """
            retry: 2000

            event: task
            data: {"id":"%s","type":"mail","from":"PENDING","to":"RUNNING","at":"2027-01-31T08:00:00.123Z","attempt":1}

            the end\
            """
                .formatted(id));
  }

  @Test
  void events_that_are_committed_late_are_sent_too() {
    EventStream stream = watch(caller(1), ALL);
    pass();
    writeEvent(1, "in-time");
    pass();
    writeEvent(1, "late");
    world.sql(
        "UPDATE carillon.event SET written_at = written_at - interval '1 s' WHERE type = 'late'");
    pass();

    assertThat(rest(stream)).containsOnlyOnce("in-time").containsOnlyOnce("late");
  }

  @Test
  void a_stream_gets_only_events_that_it_requested_and_may_see() {
    EventStream all = watch(caller(1), ALL);
    EventStream limited = watch(caller(1, "mail"), ALL);
    EventStream ofType = watch(caller(1), new EventStream.Filter("sms", Set.of(), false));
    EventStream stranger = watch(caller(2), ALL);
    pass();
    TaskId id = writeEvent(1, "mail");
    writeEvent(1, "sms");
    EventStream ofTask = watch(caller(1), new EventStream.Filter(null, Set.of(id), false));
    pass();

    assertThat(rest(all)).contains("\"mail\"").contains("\"sms\"");
    assertThat(rest(limited)).contains("\"mail\"").doesNotContain("\"sms\"");
    assertThat(rest(ofType)).doesNotContain("\"mail\"").contains("\"sms\"");
    assertThat(rest(ofTask)).contains(id.toString()).doesNotContain("\"sms\"");
    assertThat(rest(stranger)).doesNotContain("event: task");
  }

  @Test
  void events_beyond_the_limit_are_only_counted() {
    EventStream stream = watch(caller(1), ALL);
    EventStream limited = watch(caller(1, "mail"), ALL);
    pass();
    List<Events.Event> events = new ArrayList<>();
    for (int i = 0; i < Broadcast.MAX_EVENTS_PER_PASS + 7; i++) {
      TaskId id = TaskId.at(world.clock.instant(), new Random(i));
      var change = new Events.Change(id, "sms", null, TaskState.PENDING, 0);
      events.add(new Events.Event(World.TENANT, world.clock.instant(), change, 0));
    }
    events.add(new Events.Event(World.TENANT, world.clock.instant(), null, 1_000));
    world.store.events().write(events, "another");
    pass();

    String sent = rest(stream);
    assertThat(sent.split("event: task")).hasSize(Broadcast.MAX_EVENTS_PER_PASS + 1);
    assertThat(sent).contains("event: more\ndata: {\"skipped\":1007}\n\n");
    assertThat(rest(limited)).contains("{\"skipped\":1}").doesNotContain("event: task");
  }

  @Test
  void statistics_are_sent_immediately_and_every_two_seconds_from_one_query() {
    EventStream.Filter filter = new EventStream.Filter(null, Set.of(), true);
    EventStream first = watch(caller(1), filter);
    EventStream none = watch(caller(1), ALL);
    pass();
    assertThat(statsReads).hasValue(1);
    EventStream again = watch(caller(1), filter);
    pass(Duration.ofMillis(100));
    assertThat(statsReads).as("the last statistics are still fresh").hasValue(1);
    EventStream second = watch(caller(1, "mail"), filter);
    EventStream stranger = watch(caller(2), filter);
    pass(Duration.ofMillis(100));
    Viewer limited = new Viewer(World.TENANT, List.of("mail"));
    assertThat(readViewers).hasValue(Set.of(limited, Viewer.ofAll(new TenantId(2))));
    pass(Duration.ofSeconds(2));

    assertThat(statsReads).hasValue(3);
    assertThat(readViewers)
        .hasValue(Set.of(limited, Viewer.ofAll(World.TENANT), Viewer.ofAll(new TenantId(2))));
    assertThat(rest(again).split("event: stats")).hasSize(3);
    assertThat(rest(first).split("event: stats\ndata: \\{\"all\":true}\n\n")).hasSize(3);
    assertThat(rest(second).split("event: stats\ndata: \\{\"of\":\"\\[mail]\"}\n\n")).hasSize(3);
    assertThat(rest(none)).doesNotContain("stats");
    assertThat(rest(stranger)).doesNotContain("stats");
  }

  @Test
  void fifty_streams_with_their_own_keys_and_types_need_as_many_statements_as_one() {
    world.countStatements();
    int one = statementsOf(1);
    assertThat(statementsOf(50)).isEqualTo(one);
    assertThat(one).as("statements in 12 seconds").isBetween(40, 150);
  }

  /** Counts the statements of 12 s with a task per second. Each stream has its own key and type. */
  private int statementsOf(int streams) {
    broadcast.close();
    var reader = new StatsReader(world.db, world.catalog, world.partitions, world.clock);
    var gate = new DatabaseGate(world.db, 4);
    broadcast = broadcast(new Stats(reader, new ActivityReader(world.db), gate, () -> now)::json);
    var auth = new Auth("00".repeat(32), world.store.keys(), world.store.tenants(), gate);
    for (int i = 0; i < streams; i++) {
      List<String> bearer = List.of("Bearer " + key("type-" + i));
      Supplier<Caller> callerNow = () -> auth.caller(Permission.TASKS_READ, bearer, List.of());
      broadcast.open(callerNow.get(), callerNow, new EventStream.Filter(null, Set.of(), true));
    }
    int before = statements();
    for (int second = 0; second < 12; second++) {
      writeEvent(1, "mail");
      pass();
    }
    assertThat(broadcast.streams()).isEqualTo(streams);
    return statements() - before;
  }

  private String key(String type) {
    KeyText text = KeyText.random(random);
    world.db.inTransaction(
        tx ->
            world
                .store
                .keys()
                .create(
                    tx,
                    World.TENANT,
                    text.id(),
                    "test",
                    Role.VIEWER.label(),
                    List.of(type),
                    text.hash(),
                    null,
                    "test"));
    return text.text();
  }

  private int statements() {
    return Integer.parseInt(
        world.value(
            """
            SELECT coalesce(sum(calls), 0)
            FROM pg_stat_statements
            WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
              AND query ~ 'carillon[.]'
            """));
  }

  @Test
  void a_busy_database_delays_key_checks_but_no_events() {
    AtomicInteger keyChecks = new AtomicInteger();
    Supplier<Caller> busy =
        () -> {
          keyChecks.incrementAndGet();
          throw DatabaseGate.overloaded();
        };
    List<EventStream> open = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      open.add(broadcast.open(caller(1), busy, ALL));
    }
    pass();
    assertThat(keyChecks).hasValue(1);
    writeEvent(1, "mail");
    pass();

    assertThat(keyChecks).as("key checks, after another pass").hasValue(2);
    open.forEach(stream -> assertThat(rest(stream)).contains("mail"));
  }

  @Test
  void a_pass_ends_the_streams_of_a_revoked_key() {
    String key = key("mail");
    String id = KeyText.parse(key).orElseThrow().id();
    var auth =
        new Auth(
            "00".repeat(32),
            world.store.keys(),
            world.store.tenants(),
            new DatabaseGate(world.db, 1));
    Supplier<Caller> callerNow =
        () -> auth.caller(Permission.TASKS_READ, List.of("Bearer " + key), List.of());
    EventStream stream = broadcast.open(callerNow.get(), callerNow, ALL);
    pass();
    assertThat(stream.isEnded()).isFalse();
    world.sql("UPDATE carillon.api_key SET revoked_at = now() WHERE id = '" + id + "'");
    pass(Duration.ofSeconds(7));

    assertThat(stream.isEnded()).isTrue();
  }

  @Test
  void a_stream_sends_keep_alives_without_passes() {
    EventStream stream = watch(caller(1), ALL);
    var out = new ByteArrayOutputStream();
    Thread writer = Thread.ofVirtual().start(() -> write(stream, out, Duration.ofMillis(10)));

    await().until(() -> out.toString(StandardCharsets.UTF_8).endsWith("\n\n:\n\n:\n\n"));
    stream.end();
    await().until(() -> !writer.isAlive());
  }

  private static void write(EventStream stream, OutputStream out, Duration keepAliveInterval) {
    try {
      stream.writeTo(out, keepAliveInterval);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void a_stream_that_is_not_read_ends_and_the_others_continue() {
    EventStream idle = watch(caller(1), ALL);
    EventStream reader = watch(caller(1), ALL);
    pass();
    for (int i = 0; i < EventStream.MAX_WAITING; i++) {
      idle.add(new byte[1]);
    }
    assertThat(idle.isEnded()).isFalse();
    writeEvent(1, "mail");
    pass();

    assertThat(idle.isEnded()).isTrue();
    writeEvent(1, "sms");
    pass();
    assertThat(broadcast.streams()).isEqualTo(1);
    assertThat(rest(reader)).contains("mail").contains("sms");
  }

  @Test
  void a_stream_ends_within_ten_seconds_after_its_caller_lost_access() {
    AtomicReference<@Nullable ApiException> refusal = new AtomicReference<>();
    Caller caller = caller(1);
    Supplier<Caller> callerNow =
        () -> {
          ApiException e = refusal.get();
          if (e != null) {
            throw e;
          }
          return caller;
        };
    EventStream stream = broadcast.open(caller, callerNow, ALL);
    EventStream moved = broadcast.open(caller, () -> caller(2), ALL);
    pass();
    assertThat(moved.isEnded()).isTrue();
    refusal.set(DatabaseGate.overloaded());
    pass(Duration.ofSeconds(7));
    assertThat(stream.isEnded()).as("the database was too busy to check").isFalse();
    refusal.set(Auth.unauthorized());
    pass(Duration.ofSeconds(7));

    assertThat(stream.isEnded()).isTrue();
  }

  @Test
  void the_streams_of_a_tenant_and_of_a_node_are_limited() {
    for (int tenant = 1; tenant <= Limits.STREAMS / Limits.STREAMS_OF_TENANT; tenant++) {
      Caller caller = caller(tenant);
      for (int i = 0; i < Limits.STREAMS_OF_TENANT; i++) {
        watch(caller, ALL);
      }
      if (tenant == 1) {
        assertRejected(caller, ErrorCode.TOO_MANY_STREAMS);
      }
    }
    assertRejected(caller(99), ErrorCode.OVERLOADED);
    broadcast.close();
    pass();
    assertThat(broadcast.streams()).isZero();
    assertRejected(caller(99), ErrorCode.OVERLOADED);
  }

  @Test
  void a_rejected_stream_causes_probes_for_disconnected_clients() {
    List<EventStream> streams = new ArrayList<>();
    for (int i = 0; i < Limits.STREAMS_OF_TENANT; i++) {
      streams.add(watch(caller(1), ALL));
    }
    AtomicInteger writes = new AtomicInteger();
    OutputStream broken =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            throw new IOException("not called");
          }

          @Override
          public void write(byte[] bytes) throws IOException {
            if (writes.incrementAndGet() > 2) { // the first write after the start still succeeds
              throw new IOException("gone");
            }
          }
        };
    Thread writer =
        Thread.ofVirtual()
            .start(
                () -> {
                  try (EventStream gone = streams.getFirst()) {
                    assertThatThrownBy(() -> gone.writeTo(broken, Duration.ofHours(1)))
                        .hasMessage("gone");
                  }
                });

    assertRejected(caller(1), ErrorCode.TOO_MANY_STREAMS);
    pass();
    await().until(() -> writes.get() == 2);
    pass();

    await().until(() -> !writer.isAlive());
    assertThat(broadcast.streams()).isEqualTo(Limits.STREAMS_OF_TENANT - 1);
    EventStream next = watch(caller(1), ALL);
    assertThat(next.isEnded()).isFalse();
  }

  @Test
  void many_rejected_streams_cause_one_probe_per_second_and_two_in_total() {
    EventStream stream = watch(caller(1), ALL);
    for (int i = 1; i < Limits.STREAMS_OF_TENANT; i++) {
      watch(caller(1), ALL);
    }
    var out = new ByteArrayOutputStream();
    Thread writer = Thread.ofVirtual().start(() -> write(stream, out, Duration.ofHours(1)));
    for (int i = 0; i < 5; i++) {
      assertRejected(caller(1), ErrorCode.TOO_MANY_STREAMS);
    }
    pass();
    await().until(() -> out.toString(StandardCharsets.UTF_8).endsWith("\n\n:\n\n"));
    broadcast.passOnce(now);
    pass();
    await().until(() -> out.toString(StandardCharsets.UTF_8).endsWith("\n\n:\n\n:\n\n"));
    pass();
    stream.add("the end".getBytes(StandardCharsets.UTF_8));

    await().until(() -> out.toString(StandardCharsets.UTF_8).endsWith("the end"));
    assertThat(out.toString(StandardCharsets.UTF_8)).isEqualTo("retry: 2000\n\n:\n\n:\n\nthe end");
    stream.end();
    await().until(() -> !writer.isAlive());
  }

  private void assertRejected(Caller caller, ErrorCode code) {
    assertThatThrownBy(() -> watch(caller, ALL))
        .isInstanceOfSatisfying(
            ApiException.class,
            e -> {
              assertThat(e.code()).isEqualTo(code);
              assertThat(e.headers()).containsKey("Retry-After");
            });
  }

  @Test
  void streams_survive_a_database_failure() {
    EventStream stream = watch(caller(1), ALL);
    pass();
    world.sql("ALTER TABLE carillon.event RENAME TO away");
    pass();
    world.sql("ALTER TABLE carillon.away RENAME TO event");
    writeEvent(1, "mail");
    pass();

    assertThat(rest(stream)).containsOnlyOnce("mail");
  }

  @Test
  void watches_are_renewed_until_the_last_stream_ends() {
    EventStream stream = watch(caller(1), ALL);
    pass();
    assertThat(world.store.events().watched()).containsExactly(World.TENANT);
    world.sql("DELETE FROM carillon.watch");
    pass();
    assertThat(world.store.events().watched()).isEmpty();
    pass(Duration.ofSeconds(10));
    assertThat(world.store.events().watched()).containsExactly(World.TENANT);

    stream.close();
    world.sql("DELETE FROM carillon.watch");
    pass(Duration.ofSeconds(10));

    assertThat(world.store.events().watched()).isEmpty();
  }
}
