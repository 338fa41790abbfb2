package carillon.bench.dashboard;

import carillon.bench.scenarios.Stage;
import carillon.bench.systems.Callers;
import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.Database;
import carillon.bench.systems.Tasks;
import carillon.bench.systems.Wire;
import carillon.client.Carillon;
import carillon.client.NewSchedule;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;

/**
 * The data of an installation that has been in use for weeks. Tasks are written directly to the
 * tables: of 100 tasks 70 have completed, 10 are dead, 3 are cancelled or expired, one waits for a
 * worker that never comes, and 16 are due in the next 20 days. Types, tenants, schedules, keys and
 * lanes are created through the API.
 */
final class DashboardData {

  private static final int DAYS = 20; // in the past, and as many in the future
  private static final int LOADERS = 2;
  private static final double SHARE_OF_A_PAST_DAY = 0.042;
  private static final double SHARE_OF_A_FUTURE_DAY = 0.008;
  private static final int PUSHED = 36;
  private static final int PULLED = 4;
  private static final int TENANTS = 48;
  private static final int TYPES_PER_TENANT = 20;
  private static final int SCHEDULES = 200;
  private static final int KEYS = 200;

  private final CarillonServer carillon;
  private final Database database;
  private final Stage stage;

  private DashboardData(CarillonServer carillon, Stage stage) {
    this.carillon = carillon;
    this.database = carillon.store();
    this.stage = stage;
  }

  static String tenant(int number) {
    return "customer-%02d".formatted(number);
  }

  /** Some types of the tenant with the most tasks. */
  static List<String> types(int number) {
    return List.of("push-%02d".formatted(number % PUSHED), "pull-%02d".formatted(number % PULLED));
  }

  /** Creates everything; returns the values of the placeholders in {@link PageRequest}. */
  static Map<String, String> load(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    DashboardData data = new DashboardData(carillon, stage);
    stage.progress().step("creating types, tenants, schedules and keys");
    data.createTypes();
    data.createTenants();
    data.createSchedulesAndKeys();
    data.database.execute(LANES);
    stage.progress().step("loading %,d tasks".formatted(stage.sizes().dashboard()));
    data.fillPartitions();
    stage.progress().step("loading the other tables");
    data.database.execute(OTHER_TABLES);
    data.claimSome();
    stage.progress().step("settling");
    data.database.settle();
    data.database.checkpoint();
    return data.examples();
  }

  /** The first task of a type, due far in the future, creates its lane. */
  private static String firstTask(String type) {
    return Tasks.task(type, ",\"delay\":\"240h\"");
  }

  private void createTypes() throws IOException {
    Carillon client = carillon.client();
    List<String> pushed = IntStream.range(0, PUSHED).mapToObj("push-%02d"::formatted).toList();
    List<String> pulled = IntStream.range(0, PULLED).mapToObj("pull-%02d"::formatted).toList();
    for (String type : pushed) {
      client.put("/v1/types/" + type, Map.of("target", Map.of("discard", Map.of())));
    }
    for (String type : pulled) {
      client.put(
          "/v1/types/" + type,
          Map.of(
              "target",
              Map.of("pull", Map.of()),
              "leaseTimeout",
              "24h")); // longer than the measurement
    }
    carillon.submit(null, PUSHED, i -> firstTask(pushed.get(i)));
    carillon.submit(null, PULLED, i -> firstTask(pulled.get(i)));
  }

  private void createTenants() throws IOException {
    for (int i = 0; i < TENANTS; i++) {
      carillon.client().put("/v1/tenants/" + tenant(i), Map.of());
      carillon.submit(tenant(i), TYPES_PER_TENANT, type -> firstTask("work-%02d".formatted(type)));
    }
  }

  private void createSchedulesAndKeys() {
    for (int i = 0; i < SCHEDULES; i++) {
      carillon
          .client()
          .putSchedule(
              NewSchedule.cron("schedule-" + i, "0 3 1 1 *")
                  .type("push-%02d".formatted(i % PUSHED)));
    }
    for (int i = 0; i < KEYS; i++) {
      carillon.client().post("/v1/keys", Map.of("name", "key " + i, "role", "viewer"));
    }
  }

  private static final String LANES =
      """
      CREATE SCHEMA bench;

      CREATE TABLE bench.lane AS
      SELECT k.*, row_number() OVER (PARTITION BY k.kind ORDER BY k.id) - 1 AS n
      FROM (
          SELECT l.id, l.tenant, l.type,
                 CASE
                     WHEN l.tenant > 1 THEN 'OTHERS'
                     WHEN l.type LIKE 'pull-%' THEN 'PULL'
                     WHEN l.type LIKE 'push-%' THEN 'PUSH'
                 END AS kind
          FROM carillon.lane l
      ) k
      WHERE k.kind IS NOT NULL;

      ANALYZE bench.lane;
      """;

  private record Day(LocalDate date, boolean isPast) {}

  private void fillPartitions() throws IOException, InterruptedException {
    LocalDate today = LocalDate.now(ZoneOffset.UTC);
    // Today stays empty: tasks that become due during the measurement would distort it.
    List<Day> days =
        IntStream.rangeClosed(-DAYS, DAYS)
            .filter(day -> day != 0)
            .mapToObj(day -> new Day(today.plusDays(day), day < 0))
            .toList();
    Queue<Day> remaining = new ConcurrentLinkedQueue<>(days);
    Callers.together(
        LOADERS,
        () -> {
          for (Day day = remaining.poll(); day != null; day = remaining.poll()) {
            fill(day);
            stage.progress().at(days.size() - remaining.size(), days.size());
          }
          return new long[0];
        });
  }

  private void fill(Day day) throws SQLException {
    int tasks = stage.sizes().dashboard();
    int rows = (int) (tasks * (day.isPast() ? SHARE_OF_A_PAST_DAY : SHARE_OF_A_FUTURE_DAY));
    String partition = day.date().format(DateTimeFormatter.BASIC_ISO_DATE);
    database.execute("SELECT carillon.create_partition('" + day.date() + "')");
    String sql = TASKS_OF_A_DAY + QUEUE_OF_A_DAY + (day.isPast() ? DEAD_LETTERS_OF_A_DAY : "");
    database.execute(
        sql.replace("{partition}", partition)
            .replace("{day}", day.date().toString())
            .replace("{rows}", String.valueOf(rows))
            .replace("{state}", day.isPast() ? STATE_OF_THE_PAST : "'PENDING'")
            .replace("{past}", String.valueOf(day.isPast()))
            .replace("{payload}", Tasks.payload()));
    database.execute(
        "VACUUM (ANALYZE) carillon.task_%1$s, carillon.queue_%1$s".formatted(partition));
  }

  private static final String STATE_OF_THE_PAST =
      """
      CASE
          WHEN n % 84 < 70 THEN 'COMPLETED'
          WHEN n % 84 < 80 THEN 'DEAD'
          WHEN n % 84 < 82 THEN 'CANCELLED'
          WHEN n % 84 < 83 THEN 'EXPIRED'
          ELSE 'PENDING'
      END\
      """;

  // Every second task has a random position in the table, as if created long before it was due. A
  // few types have most of the tasks. Due tasks wait for pull workers: the node would run any
  // other.
  private static final String TASKS_OF_A_DAY =
      """
      INSERT INTO carillon.task_{partition} (
          tenant, id, partition, lane, state, ready_at, due_at, created_at, attempt, fence, leased_by, started_at,
          finished_at, status, failure, key, schedule, fire_at, payload, metadata, output, error)
      SELECT l.tenant, uuidv7(extract(epoch FROM t.due_at - clock_timestamp()) * interval '1 second'), '{day}'::date, l.id,
             t.state::carillon.task_state, CASE WHEN t.state = 'PENDING' THEN t.due_at END, t.due_at,
             least(t.due_at, now()) - interval '1 hour', t.attempt, t.attempt, CASE WHEN t.attempt > 0 THEN 'bench' END,
             CASE WHEN t.attempt > 0 THEN t.due_at + interval '20 ms' END,
             CASE WHEN t.state <> 'PENDING' THEN t.due_at + interval '200 ms' END,
             CASE t.state WHEN 'COMPLETED' THEN 200 WHEN 'DEAD' THEN 503 END,
             CASE t.state WHEN 'DEAD' THEN 'STATUS' END,
             CASE WHEN t.n % 3 = 0 THEN 'order-' || t.n END,
             CASE WHEN t.n % 50 = 7 AND t.kind = 'PUSH' THEN 'schedule-' || t.n / 50 % 200 END,
             CASE WHEN t.n % 50 = 7 AND t.kind = 'PUSH' THEN t.due_at END,
             '{payload}',
             CASE WHEN t.n % 4 = 0 THEN jsonb_build_object('customer', 'c-' || t.n % 1000) END,
             CASE t.state WHEN 'COMPLETED' THEN '{"ok": true}' END,
             CASE t.state
                 WHEN 'DEAD' THEN format('HTTP 503: backend %s refused order %s after %s ms', chr(97 + t.n % 25), t.n, t.n % 977)
             END
      FROM (
          SELECT t.*,
                 CASE t.state WHEN 'COMPLETED' THEN 1 WHEN 'DEAD' THEN 3 ELSE 0 END AS attempt,
                 CASE
                     WHEN t.n % 20 = 0 THEN 'OTHERS'
                     WHEN t.n % 10 = 3 OR (t.state = 'PENDING' AND {past}) THEN 'PULL'
                     ELSE 'PUSH'
                 END AS kind
          FROM (
              SELECT n, random() AS place, {state} AS state,
                     '{day} 00:00:01+00'::timestamptz
                         + CASE n % 2 WHEN 0 THEN random() ELSE n::float8 / {rows} END * interval '86398 seconds' AS due_at
              FROM generate_series(1, {rows}) n
              OFFSET 0
          ) t
      ) t
      JOIN bench.lane l
        ON l.kind = t.kind
       AND l.n = floor(CASE t.kind WHEN 'PUSH' THEN 36 WHEN 'PULL' THEN 4 ELSE 960 END * t.place * t.place)::int;
      """;

  private static final String QUEUE_OF_A_DAY =
      """
      INSERT INTO carillon.queue_{partition} (ready_at, expires_at, id, lane, partition, payload_bytes)
      SELECT t.ready_at, t.expires_at, t.id, t.lane, t.partition, octet_length(t.payload)
      FROM carillon.task_{partition} t
      WHERE t.state = 'PENDING';

      """;

  private static final String DEAD_LETTERS_OF_A_DAY =
      """
      INSERT INTO carillon.dead_letter (tenant, task, partition, type, died_at, error, failure, status, key, kept_from)
      SELECT t.tenant, t.id, t.partition, l.type, t.finished_at, t.error, t.failure, t.status, t.key, t.finished_at
      FROM carillon.task_{partition} t
      JOIN carillon.lane l ON l.id = t.lane
      WHERE t.state = 'DEAD';

      INSERT INTO carillon.attempt_{partition} (
          tenant, task, partition, attempt, fence, leased_by, started_at, ended_at, outcome, failure, status, error)
      SELECT t.tenant, t.id, t.partition, a, a, 'bench', t.started_at - a * interval '1 minute',
             t.finished_at - a * interval '1 minute', 'RETRIED', t.failure, t.status, t.error
      FROM carillon.task_{partition} t
      CROSS JOIN generate_series(1, 2) a
      WHERE t.state = 'DEAD';

      INSERT INTO carillon.transition_{partition} (tenant, task, partition, at, from_state, to_state, fence, who, reason)
      SELECT t.tenant, t.id, t.partition, t.finished_at - (3 - a) * interval '1 minute', 'RUNNING'::carillon.task_state,
             CASE a WHEN 3 THEN 'DEAD' ELSE 'PENDING' END::carillon.task_state, a, 'bench', t.error
      FROM carillon.task_{partition} t
      CROSS JOIN generate_series(1, 3) a
      WHERE t.state = 'DEAD';

      INSERT INTO carillon.schedule_fire (schedule, at, local, shift, kind, task, partition, outcome, recorded_at)
      SELECT s.id, t.fire_at, t.fire_at AT TIME ZONE 'UTC', 'NONE', 'SCHEDULED', t.id, t.partition, t.state::text, t.fire_at
      FROM carillon.task_{partition} t
      JOIN carillon.schedule s ON s.tenant = t.tenant AND s.name = t.schedule
      WHERE t.finished_at IS NOT NULL
      ON CONFLICT DO NOTHING;
      """;

  private static final String OTHER_TABLES =
      """
      INSERT INTO carillon.audit (tenant, at, who, action, subject, detail)
      SELECT 1, now() - n * interval '1 minute', 'key:bench', 'task.cancel', 'task/' || n, '{}'::jsonb
      FROM generate_series(200000, 1, -1) n;

      INSERT INTO carillon.redrive (
          id, tenant, state, filter, ids, who, created_at, ended_at, matched, at_least, redriven)
      SELECT uuidv7(n * interval '-1 minute'), 1, 'DONE', '{"type": "push-00"}'::jsonb, '{}'::uuid[], 'key:bench',
             now() - n * interval '1 minute', now() - n * interval '1 minute', 100, false, 100
      FROM generate_series(1, 1000) n;

      INSERT INTO carillon.activity (
          span, tenant, type, at, started, completed, retried, dead, cancelled, expired, late)
      SELECT s.span, k.tenant, k.type, at, 60, 55, 2, 3, 0, 0, '{40,10,5,3,2,0,0,0,0,0,0,0,0,0,0}'::bigint[]
      FROM (VALUES (1, interval '25 hours'), (60, interval '8 days')) AS s (span, kept)
      CROSS JOIN (
          SELECT 0 AS tenant, '' AS type
          UNION ALL
          SELECT id, '' FROM carillon.tenant
          UNION ALL
          SELECT tenant, type FROM bench.lane
      ) k
      CROSS JOIN LATERAL generate_series(
          date_trunc('hour', now()) - s.kept, now(), s.span * interval '1 minute') at
      WHERE k.tenant <= 1 OR k.type = '' OR extract(minute FROM at) % 10 = 0
      ON CONFLICT DO NOTHING;
      """;

  /** Gives the dashboard running tasks: claims some as a worker that never reports back. */
  private void claimSome() throws IOException {
    try (Wire wire = carillon.wire(null)) {
      wire.post(
          "/v1/work/claim",
          "application/json",
          """
          {"types": ["pull-00", "pull-01", "pull-02", "pull-03"], "max": 500, "wait": "100ms", "worker": "bench"}
          """
              .getBytes(StandardCharsets.UTF_8));
    }
  }

  private Map<String, String> examples() throws SQLException {
    String dead =
        """
        FROM carillon.dead_letter
        WHERE tenant = 1
          AND key IS NOT NULL
          AND partition = current_date - 3
        ORDER BY tenant, task
        LIMIT 1
        """;
    return Map.of(
        "task",
        database.one(
            """
            SELECT id
            FROM carillon.task
            WHERE tenant = 1
              AND partition = current_date - 2
              AND state = 'COMPLETED'
            LIMIT 1
            """),
        "dead",
        database.one("SELECT task " + dead),
        "key",
        database.one("SELECT key " + dead),
        "deadType",
        database.one("SELECT type " + dead),
        "group",
        database.one("SELECT fingerprint " + dead),
        "from",
        LocalDate.now(ZoneOffset.UTC).minusDays(3) + "T00:00:00Z",
        "to",
        LocalDate.now(ZoneOffset.UTC).minusDays(2) + "T00:00:00Z",
        "now",
        LocalDate.now(ZoneOffset.UTC) + "T00:00:00Z");
  }
}
