package carillon.api.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.api.TestApi;
import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.http.DatabaseGate;
import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.model.task.Counts;
import carillon.store.catalog.Tenants;
import carillon.store.stats.Activity;
import carillon.store.stats.ActivityReader.Since;
import carillon.store.stats.WaitingCounts;
import carillon.testkit.Latches;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** {@code GET /v1/stats} and related endpoints. */
class StatsApiTest {

  private static final String[] ACTIVITY = {
    "started", "completed", "retried", "dead", "cancelled", "expired", "perSecond", "lateness"
  };

  private static TestApi api;
  private static String worker;

  /**
   * The tenant "stats" has three pending mail tasks, two of which are due, and a pending sms task.
   * Ten completed mail tasks and a dead sms task are recorded as its activity.
   */
  @BeforeAll
  static void start() {
    api = TestApi.start();
    worker = api.key("stats", "worker", "mail");
    int tenant =
        Integer.parseInt(api.world.value("SELECT id FROM carillon.tenant WHERE name = 'stats'"));
    for (String task :
        List.of(
            "{'type': 'mail'}",
            "{'type': 'mail'}",
            "{'type': 'mail', 'delay': '1h'}",
            "{'type': 'sms'}")) {
      api.post("/v1/tasks")
          .header("Carillon-Tenant", "stats")
          .json(task.replace('\'', '"'))
          .send()
          .expect(202);
    }
    api.put("/v1/types/quiet")
        .header("Carillon-Tenant", "stats")
        .json("{\"paused\": true}")
        .send()
        .expect(201);
    Counts counts = new Counts();
    Instant now = api.world.clock.instant();
    for (int i = 0; i < 10; i++) {
      counts.addStarted(now, now.plusMillis(3));
      counts.add(Counts.Kind.COMPLETED);
    }
    Counts one = new Counts();
    one.add(Counts.Kind.DEAD);
    Counts all = new Counts();
    all.add(counts);
    all.add(one);
    new Activity(api.world.db)
        .add(
            List.of(
                new Activity.Row(tenant, "mail", counts),
                new Activity.Row(tenant, "sms", one),
                new Activity.Row(tenant, Activity.ALL_TYPES, all),
                new Activity.Row(Activity.ALL_TENANTS, Activity.ALL_TYPES, all)));
    WaitingCounts waiting = new WaitingCounts(api.world.db);
    waiting
        .changes()
        .keySet()
        .forEach(partition -> waiting.save(partition, waiting.count(partition)));
    waiting.done(now);
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  private static JsonNode get(String path) {
    return api.get(path).header("Carillon-Tenant", "stats").send().expect(200).json();
  }

  @Test
  void a_tenant_sees_its_tasks_and_their_activity() {
    JsonNode stats = get("/v1/stats");

    assertThat(stats.propertyNames())
        .containsExactly(
            "at",
            "seenAt",
            "status",
            "pendingCountedAt",
            "runningIsAtLeast",
            "deadIsAtLeast",
            "due",
            "last",
            "now",
            "limits",
            "types",
            "moreTypes");
    assertThat(stats.get("status")).hasToString("{\"PENDING\":4,\"RUNNING\":0,\"DEAD\":0}");
    assertThat(stats.get("pendingCountedAt").isNull()).isFalse();
    assertThat(stats.get("due").get("tasks").asInt()).isEqualTo(3);
    assertThat(stats.get("due").get("atLeast").asBoolean()).isFalse();
    assertThat(stats.get("due").get("oldest").isNull()).isFalse();
    assertThat(stats.get("last").propertyNames()).containsExactly("minute", "hour", "day");
    JsonNode hour = stats.get("last").get("hour");
    assertThat(hour.propertyNames()).containsExactly(ACTIVITY);
    assertThat(hour.get("completed").asInt()).isEqualTo(10);
    assertThat(hour.get("dead").asInt()).isEqualTo(1);
    assertThat(hour.get("perSecond").asDouble()).isBetween(0.003, 0.004);
    assertThat(hour.get("lateness"))
        .hasToString("{\"p50\":\"PT0.005S\",\"p95\":\"PT0.005S\",\"p99\":\"PT0.005S\"}");
    assertThat(stats.get("last").get("day").get("completed").asInt()).isEqualTo(10);
    assertThat(stats.get("now").has("at")).isTrue();
    assertThat(stats.get("types").valueStream().map(type -> type.get("type").asString()))
        .containsExactly("mail", "sms", "quiet");
    JsonNode mail = stats.get("types").get(0);
    assertThat(mail.propertyNames())
        .containsExactly(
            "type",
            "paused",
            "pending",
            "running",
            "dead",
            "due",
            "dueAtLeast",
            "oldestDue",
            "hour");
    assertThat(mail.get("pending").asInt()).isEqualTo(3);
    assertThat(mail.get("due").asInt()).isEqualTo(2);
    assertThat(stats.get("types").get(2).get("paused").asBoolean()).isTrue();
    assertThat(stats.get("types").get(2).get("hour").get("lateness").get("p50").isNull()).isTrue();
  }

  @Test
  void a_tenant_without_activity_has_statistics() {
    JsonNode stats = api.get("/v1/stats").send().expect(200).json();

    assertThat(stats.get("status")).hasToString("{\"PENDING\":0,\"RUNNING\":0,\"DEAD\":0}");
    assertThat(stats.get("types")).isEmpty();
    assertThat(stats.get("due").get("oldest").isNull()).isTrue();
  }

  @Test
  void a_key_limited_to_types_sees_only_those() {
    JsonNode stats = api.request("GET", "/v1/stats").as(worker).send().expect(200).json();

    assertThat(stats.get("types")).hasSize(1);
    assertThat(stats.get("types").get(0).get("type").asString()).isEqualTo("mail");
    assertThat(stats.get("status").get("PENDING").asInt()).isEqualTo(3);
    assertThat(stats.get("due").get("tasks").asInt()).isEqualTo(2);
    assertThat(stats.get("last").get("hour").get("dead").asInt()).isZero();
    assertThat(stats.get("last").get("hour").get("completed").asInt()).isEqualTo(10);
    JsonNode series = api.request("GET", "/v1/stats/series").as(worker).send().expect(200).json();
    assertThat(sum(series, "dead")).isZero();
    assertThat(sum(series, "completed")).isEqualTo(10);
    api.request("GET", "/v1/stats/series?type=sms")
        .as(worker)
        .send()
        .expect(ErrorCode.MISSING_SCOPE);
    api.request("GET", "/v1/types/sms/stats").as(worker).send().expect(ErrorCode.MISSING_SCOPE);
    api.request("GET", "/v1/types/mail/stats").as(worker).send().expect(200);
  }

  private static int sum(JsonNode series, String field) {
    return series.get("points").valueStream().mapToInt(point -> point.get(field).asInt()).sum();
  }

  @ParameterizedTest
  @CsvSource({"'', PT1M, 60", "?window=hour, PT1M, 60", "?window=day, PT5M, 288"})
  void a_series_has_no_gaps_and_ends_now(String query, Duration step, int points) {
    JsonNode series = get("/v1/stats/series" + query);

    assertThat(series.propertyNames()).containsExactly("from", "to", "step", "points");
    assertThat(series.get("step").asString()).isEqualTo(step.toString());
    assertThat(series.get("points")).hasSize(points);
    Instant from = Instant.parse(series.get("from").asString());
    for (int i = 0; i < points; i++) {
      assertThat(Instant.parse(series.get("points").get(i).get("at").asString()))
          .isEqualTo(from.plus(step.multipliedBy(i)));
    }
    Instant to = Instant.parse(series.get("to").asString());
    assertThat(to)
        .isBetween(from.plus(step.multipliedBy(points - 1L)), from.plus(step.multipliedBy(points)));
    assertThat(sum(series, "completed")).isEqualTo(10);
  }

  @Test
  void a_series_of_a_type_counts_that_type_only() {
    assertThat(sum(get("/v1/stats/series?window=day&type=sms"), "completed")).isZero();
    assertThat(sum(get("/v1/stats/series?window=day&type=sms"), "dead")).isEqualTo(1);
    assertThat(sum(get("/v1/stats/series?type=never-seen"), "dead")).isZero();
  }

  @Test
  void a_type_has_statistics_of_the_hour_and_the_day() {
    JsonNode mail = get("/v1/types/mail/stats");

    assertThat(mail.get("at").isString()).isTrue();
    assertThat(mail.get("pending").asInt()).isEqualTo(3);
    assertThat(mail.get("hour").get("completed").asInt()).isEqualTo(10);
    assertThat(mail.get("day").propertyNames()).containsExactly(ACTIVITY);
    assertThat(mail.get("day").get("completed").asInt()).isEqualTo(10);
  }

  @Test
  void an_admin_sees_the_statistics_of_all_tenants() {
    JsonNode stats = api.get("/v1/stats/tenants").send().expect(200).json();

    JsonNode first = stats.get("items").get(0);
    assertThat(first.get("tenant").asString()).isEqualTo("stats");
    assertThat(first.get("pending").asInt()).isEqualTo(4);
    assertThat(first.get("due").asInt()).isEqualTo(3);
    assertThat(first.get("hour").get("completed").asInt()).isEqualTo(10);
    assertThat(stats.get("items").valueStream().map(item -> item.get("tenant").asString()))
        .contains("default");
    assertThat(stats.get("last").get("hour").get("completed").asInt()).isEqualTo(10);
  }

  @ParameterizedTest
  @CsvSource({
    "/v1/stats/series?window=week, INVALID_VALUE",
    "/v1/stats/series?window=, INVALID_VALUE",
    "/v1/stats/series?type=a%20b, INVALID_VALUE",
    "/v1/stats/series?from=now, UNSUPPORTED_FILTER",
    "/v1/stats?type=mail, UNSUPPORTED_FILTER",
    "/v1/types/a%20b/stats, INVALID_ID",
    "/v1/types/never-seen/stats, NOT_FOUND"
  })
  void invalid_input_is_rejected(String path, ErrorCode code) {
    api.get(path).header("Carillon-Tenant", "stats").send().expect(code);
  }

  @Test
  void statistics_require_a_key_and_those_of_all_tenants_an_admin_key() {
    String owner = api.key("stats", "owner");

    api.request("GET", "/v1/stats/tenants").as(owner).send().expect(403);
    api.request("GET", "/v1/stats").as(owner).send().expect(200);
    api.request("GET", "/v1/stats").send().expect(401);
  }

  @Test
  void concurrent_requests_share_one_query() throws Exception {
    api.world.countStatements();
    api.world.sql("SELECT pg_stat_statements_reset()");
    try (ExecutorService pool = Executors.newFixedThreadPool(10)) {
      List<Future<TestApi.Reply>> replies =
          IntStream.range(0, 50)
              .mapToObj(
                  _ ->
                      pool.submit(
                          () -> api.get("/v1/stats").header("Carillon-Tenant", "stats").send()))
              .toList();
      for (Future<TestApi.Reply> reply : replies) {
        reply.get().expect(200);
      }
    }

    assertThat(
            Integer.parseInt(
                api.world.value(
                    """
                    SELECT coalesce(max(calls), 0)
                    FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
                    WHERE d.datname = current_database() AND query LIKE '%carillon.activity a%'
                    """)))
        .isLessThan(10); // two for each refresh; a busy machine may need more than one refresh
  }

  private static Stats stats(LongSupplier nanoTime) {
    return stats(new DatabaseGate(api.world.db, 1), nanoTime);
  }

  private static Stats stats(DatabaseGate gate, LongSupplier nanoTime) {
    return new Stats(api.world.store.stats(), api.world.store.activityReader(), gate, nanoTime);
  }

  @Test
  void due_tasks_are_shown_within_ten_seconds_even_if_queries_are_slow() {
    AtomicLong nanos = new AtomicLong();
    Duration slow = Duration.ofMillis(40); // between any two reads of the clock
    Stats stats = stats(() -> nanos.addAndGet(slow.toNanos()));
    TenantId tenant =
        api.world.store.tenants().put("follows", Tenants.Settings.DEFAULT, "test").id();
    int shown = dueOf(stats, tenant);
    for (int tasks = 1; tasks <= 8; tasks++) {
      api.world.tasks.create(tenant, World.task("t", new Target.Pull()));
      Duration waited = Duration.ZERO;
      for (shown = dueOf(stats, tenant); shown < tasks; shown = dueOf(stats, tenant)) {
        nanos.addAndGet(Duration.ofSeconds(1).toNanos());
        waited = waited.plusSeconds(1);
        assertThat(waited).as("delay of task " + tasks).isLessThanOrEqualTo(Duration.ofSeconds(12));
      }
    }
    assertThat(shown).isEqualTo(8);
  }

  private static int dueOf(Stats stats, TenantId tenant) {
    return (int) Stats.all(stats.overview(tenant).due()).tasks();
  }

  @Test
  void a_response_has_the_time_of_each_part() {
    JsonNode stats = get("/v1/stats");

    Instant now = api.world.clock.instant();
    assertThat(stats.get("seenAt").propertyNames())
        .containsExactly("due", "running", "dead", "last", "hours");
    Instant first =
        stats
            .get("seenAt")
            .valueStream()
            .map(at -> Instant.parse(at.asString()))
            .min(Instant::compareTo)
            .orElseThrow();
    assertThat(Instant.parse(stats.get("at").asString())).isEqualTo(first).isBefore(now);
  }

  @Test
  void one_refresh_serves_several_tenants() {
    Stats stats = stats(System::nanoTime);
    TenantId other = api.world.store.tenants().find("stats").orElseThrow().id();
    Viewer one = Viewer.ofAll(World.TENANT);
    Viewer two = Viewer.ofAll(other);
    Viewer limited = new Viewer(other, List.of("mail"));

    Map<Viewer, String> json = stats.json(Set.of(one, two, limited));

    assertThat(json).containsOnlyKeys(one, two, limited);
    assertThat(json.get(one)).contains("\"PENDING\":0");
    assertThat(json.get(two)).contains("\"PENDING\":4");
    assertThat(json.get(limited)).contains("\"PENDING\":3");
  }

  @Test
  void many_tenants_are_read_in_several_queries() {
    Set<TenantId> many =
        IntStream.rangeClosed(1, 450).mapToObj(TenantId::new).collect(Collectors.toSet());

    Map<TenantId, Stats.OfTenant> all = stats(System::nanoTime).tenants(many);

    assertThat(all).containsOnlyKeys(many);
    TenantId stats = api.world.store.tenants().find("stats").orElseThrow().id();
    assertThat(all.get(stats)).extracting(Stats.OfTenant::pending).isEqualTo(4L);
  }

  @Test
  void callers_get_the_last_values_while_the_database_is_busy() throws Exception {
    AtomicLong nanos = new AtomicLong();
    DatabaseGate gate = new DatabaseGate(api.world.db, 1);
    Stats stats = stats(gate, nanos::get);
    Viewer viewer = Viewer.ofAll(World.TENANT);
    String first = stats.json(viewer);
    nanos.addAndGet(Duration.ofSeconds(10).toNanos());
    CountDownLatch busy = new CountDownLatch(1);
    CountDownLatch released = new CountDownLatch(1);
    Thread other =
        Thread.ofPlatform()
            .start(
                () ->
                    gate.use(
                        () -> {
                          busy.countDown();
                          Latches.await(released);
                          return 0;
                        }));
    busy.await();
    try {
      assertThat(stats.json(viewer)).isEqualTo(first);
      assertThat(stats.json(Set.of(viewer, Viewer.ofAll(new TenantId(99)))))
          .containsOnlyKeys(viewer);
      assertThatThrownBy(() -> stats.json(new Viewer(new TenantId(99), List.of())))
          .isInstanceOfSatisfying(
              ApiException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.OVERLOADED));
    } finally {
      released.countDown();
      other.join();
    }
    assertThat(stats.json(viewer)).isNotEqualTo(first);
  }

  @Test
  void only_one_caller_at_a_time_gets_the_turn() throws Exception {
    DatabaseGate gate = new DatabaseGate(api.world.db, 2);
    Semaphore turn = new Semaphore(1, true);
    CountDownLatch busy = new CountDownLatch(1);
    CountDownLatch released = new CountDownLatch(1);
    Thread other =
        Thread.ofPlatform()
            .start(
                () ->
                    gate.tryExclusively(
                        turn,
                        () -> {
                          busy.countDown();
                          Latches.await(released);
                        }));
    busy.await();
    AtomicInteger runs = new AtomicInteger();
    try {
      assertThat(gate.tryExclusively(turn, runs::incrementAndGet)).isFalse();
    } finally {
      released.countDown();
      other.join();
    }
    assertThat(runs).hasValue(0);
    assertThat(gate.tryExclusively(turn, runs::incrementAndGet)).isTrue();
    assertThat(runs).hasValue(1);
  }

  @Test
  void a_rate_is_computed_over_its_period() {
    Counts counts = new Counts();
    for (int i = 0; i < 120; i++) {
      counts.add(Counts.Kind.COMPLETED);
    }
    Instant until = Instant.parse("2027-01-31T12:00:00Z"); // long before now

    JsonNode json = StatsJson.activity(new Since(until.minusSeconds(60), until, counts));

    assertThat(json.get("perSecond").asDouble()).isEqualTo(2.0);
  }
}
