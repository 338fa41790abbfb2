package carillon.bench.systems;

import carillon.bench.figures.Percentiles;
import carillon.client.Carillon;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.IntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Carillon: one node with all roles and default settings, used over its HTTP API. */
public final class CarillonServer implements Scheduler {

  private static final int BATCH = 5_000;
  private static final int BULK_CALLERS = 2;
  private static final int SLICES = 2; // so that both discard claimers have work
  private static final long METRICS_INTERVAL_NANOS = 1_000_000_000;
  private static final int FUTURE_DAYS = 30;

  /** The number of cores where this usually runs. */
  private static final int COPIERS = 2;

  private static final String KEY = "bench-admin-key-0123456789-0123456789";
  private static final Pattern COMPLETED =
      Pattern.compile("(?m)^carillon_outcomes_total\\{outcome=\"completed\"} (\\S+)$");

  private final Database database;
  private final Node node;
  private final Carillon client;
  private String type = "";
  private int loads;
  private long metricsReadAt = System.nanoTime() - METRICS_INTERVAL_NANOS;
  private long finished;

  private CarillonServer(Database database, Node node) {
    this.database = database;
    this.node = node;
    this.client = Carillon.connect(node.url(), KEY);
  }

  /**
   * @param options additional command line options
   */
  static CarillonServer start(Database database, Path directory, List<String> options)
      throws IOException {
    return new CarillonServer(
        database, Node.start(directory.resolve(database.name()), options(database, options)));
  }

  /** The options of every node on this database. */
  static List<String> options(Database database, List<String> more) {
    List<String> all =
        new ArrayList<>(
            List.of(
                "--database-url",
                database.url(),
                "--admin-key",
                KEY,
                "--allow-targets",
                "127.0.0.0/8"));
    all.addAll(more);
    return all;
  }

  public Carillon client() {
    return client;
  }

  /** Opens a new connection with the admin key. */
  public Wire wire(@Nullable String tenant) throws IOException {
    String headers = authorization(KEY);
    return new Wire(
        node.url(), tenant == null ? headers : headers + "Carillon-Tenant: " + tenant + "\r\n");
  }

  /** Opens a new connection with another key. */
  public Wire wireOf(String key) throws IOException {
    return new Wire(node.url(), authorization(key));
  }

  private static String authorization(String key) {
    return "Authorization: Bearer " + key + "\r\n";
  }

  @Override
  public Database store() {
    return database;
  }

  @Override
  public String settings() {
    return "one node with all roles and default settings, over HTTP; types with 2 slices, pull"
        + " types with 4";
  }

  @Override
  public long pid() {
    return node.pid();
  }

  /** Creates a new type and makes it the current one. */
  public String newType(Map<String, ?> settings) {
    type = "load-" + ++loads;
    client.put("/v1/types/" + type, settings);
    return type;
  }

  @Override
  public void load(int tasks) throws IOException {
    newType(Map.of("target", Map.of("discard", Map.of()), "slices", SLICES, "paused", true));
    submit(null, tasks, _ -> Tasks.task(type, ""));
  }

  /** Creates tasks in batches. */
  public void submit(@Nullable String tenant, int tasks, IntFunction<String> task)
      throws IOException {
    try (Wire wire = wire(tenant)) {
      for (int from = 0; from < tasks; from += BATCH) {
        int first = from;
        byte[] lines = Tasks.lines(Math.min(BATCH, tasks - from), i -> task.apply(first + i));
        wire.post("/v1/tasks/batch", "application/x-ndjson", lines);
      }
    }
  }

  /**
   * Creates one task per day through the API, which creates lane and partition; the others are
   * copies of it, because creating millions over HTTP would take longer than the measurement.
   */
  @Override
  public void loadFuture(int tasks) throws IOException, SQLException, InterruptedException {
    newType(Map.of("target", Map.of("discard", Map.of())));
    submit(null, FUTURE_DAYS, day -> Tasks.task(type, ",\"delay\":\"" + (day * 24 + 1) + "h\""));
    String[] partitions = database.one(PARTITIONS_OF, type).split(" ", -1);
    AtomicInteger next = new AtomicInteger();
    Callers.together(
        COPIERS,
        () -> {
          for (int i = next.getAndIncrement(); i < partitions.length; i = next.getAndIncrement()) {
            database.execute(
                COPY.replace("{partition}", partitions[i])
                    .replace("{type}", type)
                    .replace("{copies}", "" + (tasks / FUTURE_DAYS - 1)));
          }
          return new long[0];
        });
  }

  private static final String PARTITIONS_OF =
      """
      SELECT string_agg(DISTINCT to_char(t.partition, 'YYYYMMDD'), ' ')
      FROM carillon.task t
      JOIN carillon.lane l ON l.id = t.lane
      WHERE l.type = ?
      """;

  // Spreads the copies of each task, with their rows in the queue, over the hour after it is due.
  // The id of a copy has the timestamp of the original, which determines the partition, and ends in
  // the number of the copy.
  private static final String COPY =
      """
      DO $$
      DECLARE
          same text := (
              SELECT string_agg(quote_ident(attname), ', ')
              FROM pg_attribute
              WHERE attrelid = 'carillon.task'::regclass
                AND attnum > 0
                AND NOT attisdropped
                AND attname NOT IN ('id', 'due_at', 'ready_at'));
      BEGIN
          EXECUTE format(
              'WITH copies AS (
                   INSERT INTO carillon.task_{partition} (id, due_at, ready_at, %1$s)
                   SELECT (left(id::text, 24) || lpad(to_hex(n), 12, ''0''))::uuid,
                          due_at + n * interval ''1 hour'' / {copies},
                          ready_at + n * interval ''1 hour'' / {copies},
                          %1$s
                   FROM carillon.task_{partition}
                   CROSS JOIN generate_series(1, {copies}) n
                   WHERE lane IN (SELECT id FROM carillon.lane WHERE type = ''{type}'')
                   RETURNING ready_at, expires_at, id, lane, partition, octet_length(payload) AS payload_bytes
               )
               INSERT INTO carillon.queue_{partition} (ready_at, expires_at, id, lane, partition, payload_bytes)
               SELECT ready_at, expires_at, id, lane, partition, payload_bytes
               FROM copies',
              same);
      END
      $$
      """;

  @Override
  public void release() {
    client.post("/v1/types/" + type + "/resume", null);
  }

  @Override
  public long finished() {
    // Reading the metrics also runs a statement that counts waiting tasks, so read them rarely.
    long now = System.nanoTime();
    if (now - metricsReadAt > METRICS_INTERVAL_NANOS) {
      metricsReadAt = now;
      Matcher matcher = COMPLETED.matcher(client.text("/metrics"));
      finished = matcher.find() ? (long) Double.parseDouble(matcher.group(1)) : 0;
    }
    return finished;
  }

  @Override
  public double seconds(long tasks) throws SQLException {
    return seconds(tasks, type, SINCE_EVER);
  }

  /** Counts tasks of all types with this prefix that were created since then. */
  public double seconds(long tasks, String prefix, String since) throws SQLException {
    return seconds(tasks, "min(t.started_at)", prefix, since);
  }

  /**
   * Seconds from a time to the last end of the tasks that were created last.
   *
   * @param from as returned by {@link #now}
   */
  public double secondsFrom(String from, long tasks) throws SQLException {
    return seconds(tasks, "'" + from + "'::timestamptz", type, SINCE_EVER);
  }

  private double seconds(long tasks, String from, String prefix, String since) throws SQLException {
    long completed = (long) Double.parseDouble(query("count(*)", prefix, since));
    if (completed != tasks) {
      throw new IllegalStateException(completed + " of " + tasks + " tasks have completed");
    }
    return Double.parseDouble(
        query("extract(epoch FROM max(t.finished_at) - " + from + ")", prefix, since));
  }

  /** The time of the database's clock. */
  public String now() throws SQLException {
    return database.one("SELECT clock_timestamp()");
  }

  private String query(String expression, String prefix, String since) throws SQLException {
    return database.one(FROM_COMPLETED.formatted(expression), prefix, since);
  }

  private static final String SINCE_EVER = "-infinity";

  // A completed task was due, so future partitions need not be scanned.
  private static final String FROM_COMPLETED =
      """
      SELECT %s
      FROM carillon.task t
      JOIN carillon.lane l ON l.id = t.lane
      WHERE starts_with(l.type, ?)
        AND t.created_at >= ?::timestamptz
        AND t.partition <= current_date + 1
        AND t.state = 'COMPLETED'
        AND t.attempt = 1
      """;

  /** The time between two columns of the tasks that were loaded last. */
  public Percentiles between(String from, String to) throws SQLException {
    return Percentiles.ofMillis(
        database.column(FROM_COMPLETED.formatted(millis(from, to)), type, SINCE_EVER));
  }

  /** Start delays of another type's tasks that were due during the last run. */
  public Percentiles latenessDuring(String other) throws SQLException {
    String untilTheLastEnd = " AND t.due_at <= ?::timestamptz";
    return Percentiles.ofMillis(
        database.column(
            FROM_COMPLETED.formatted(millis("due_at", "started_at")) + untilTheLastEnd,
            other,
            SINCE_EVER,
            query("max(t.finished_at)", type, SINCE_EVER)));
  }

  private static String millis(String from, String to) {
    return "extract(epoch FROM t.%s - t.%s) * 1000".formatted(to, from);
  }

  @Override
  public Accepted oneByOne(Duration duration) throws IOException, InterruptedException {
    byte[] body = futureTask().getBytes(StandardCharsets.UTF_8);
    long began = System.nanoTime();
    long end = began + duration.toNanos();
    long[] took =
        send(CALLERS, "/v1/tasks", "application/json", body, () -> System.nanoTime() < end);
    double seconds = (System.nanoTime() - began) / 1e9;
    return new Accepted(took.length, seconds, Percentiles.ofNanos(took).times());
  }

  @Override
  public Accepted inBulk(int tasks) throws IOException, InterruptedException {
    String task = futureTask();
    byte[] body = Tasks.lines(BATCH, _ -> task);
    AtomicInteger left = new AtomicInteger(tasks / BATCH);
    long began = System.nanoTime();
    long[] took =
        send(
            BULK_CALLERS,
            "/v1/tasks/batch",
            "application/x-ndjson",
            body,
            () -> left.getAndDecrement() > 0);
    double seconds = (System.nanoTime() - began) / 1e9;
    return new Accepted((long) took.length * BATCH, seconds, Percentiles.ofNanos(took).times());
  }

  private String futureTask() {
    String name = newType(Map.of("target", Map.of("discard", Map.of())));
    return Tasks.task(name, ",\"delay\":\"1h\"");
  }

  /** Returns how long each request took, in nanoseconds. */
  private long[] send(
      int callers, String path, String mediaType, byte[] body, BooleanSupplier hasMore)
      throws IOException, InterruptedException {
    return Callers.together(
        callers,
        () -> {
          LongStream.Builder took = LongStream.builder();
          try (Wire wire = wire(null)) {
            while (hasMore.getAsBoolean()) {
              long began = System.nanoTime();
              wire.post(path, mediaType, body);
              took.add(System.nanoTime() - began);
            }
          }
          return took.build().toArray();
        });
  }

  @Override
  public Duration lead(int tasks) {
    return Duration.ofSeconds(3).plusMillis(tasks / 20);
  }

  @Override
  public void schedule(int tasks, Instant from, Duration window) throws IOException {
    newType(Map.of("target", Map.of("discard", Map.of()), "slices", SLICES));
    List<Instant> spread = spread(tasks, from, window);
    submit(null, tasks, i -> Tasks.task(type, due(spread.get(i))));
  }

  /** Random times in the window, the same in every run. */
  public static List<Instant> spread(int tasks, Instant from, Duration window) {
    Random random = new Random(42);
    long micros = window.toNanos() / 1000;
    return Stream.generate(
            () -> micros == 0 ? from : from.plus(random.nextLong(micros), ChronoUnit.MICROS))
        .limit(tasks)
        .toList();
  }

  /** The JSON member of a task with its due time. */
  public static String due(Instant at) {
    return ",\"dueAt\":\"" + at + "\"";
  }

  @Override
  public Lateness lateness() throws SQLException {
    return new Lateness(between("due_at", "started_at").times(), sinceDue("min"), sinceDue("max"));
  }

  private double sinceDue(String which) throws SQLException {
    String millis = "extract(epoch FROM %s(t.finished_at) - min(t.due_at)) * 1000".formatted(which);
    return Double.parseDouble(query(millis, type, SINCE_EVER));
  }

  /** Creates one task that is due in the future. */
  void createOneTask() throws IOException {
    String task = futureTask();
    submit(null, 1, _ -> task);
  }

  /** Stops the node and leaves everything in the database. */
  void stop() {
    client.close();
    node.close();
  }

  @Override
  public void close() throws SQLException {
    stop();
    database.close();
  }
}
