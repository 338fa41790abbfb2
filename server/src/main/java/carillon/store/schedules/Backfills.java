package carillon.store.schedules;

import carillon.model.TenantId;
import carillon.model.cron.NominalTime;
import carillon.model.cron.Timetable;
import carillon.model.schedule.OverlapRule;
import carillon.store.catalog.Audit;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Creates tasks for past nominal times of schedules. A backfill is a row with a cursor, which
 * {@link BackfillSteps} advances.
 */
public final class Backfills {

  /** Nominal times per backfill. */
  public static final int MAX_TIMES = 100_000;

  /** Open backfills per tenant, approximately, so that other tenants' steps are not delayed. */
  public static final int MAX_OPEN = 20;

  /** How long a request may count nominal times. */
  private static final Duration COUNT_TIMEOUT = Duration.ofSeconds(3);

  private static final Duration RETENTION = Duration.ofDays(7);

  /** Fires are recorded slightly ahead of their time, and deleted while a backfill runs. */
  private static final Duration MARGIN = Duration.ofHours(1);

  private final Db db;
  private final Function<StoredSchedule, Timetable> timetables;
  private final Duration fireRetention;

  /**
   * @param fireRetention how long recorded fires are kept
   */
  public Backfills(Db db, Function<StoredSchedule, Timetable> timetables, Duration fireRetention) {
    this.db = db;
    this.timetables = timetables;
    this.fireRetention = fireRetention;
  }

  /**
   * The range of nominal times to fill.
   *
   * @param overlap QUEUE: no two of its tasks run at a time; ALLOW: they may
   * @param again include times whose recorded fires were deleted: they may get a second task
   */
  public record Request(Instant from, Instant to, OverlapRule overlap, boolean again) {}

  public sealed interface Result {
    /** Position, or changed. */
    record Saved(Backfill backfill) implements Result {}

    /** The result of a dry run. */
    record Counted(int times, int existing) implements Result {}

    record NotFound() implements Result {}

    /** The backfill is over and cannot be stopped. */
    record WrongState(Backfill backfill) implements Result {}

    /** The range ends in the future, which belongs to the planner. */
    record NotPast(Instant now) implements Result {}

    /**
     * The recorded fires of some times were deleted, so those may have had tasks.
     *
     * @param known the earliest time whose fires are still recorded
     */
    record Forgotten(Instant known) implements Result {}

    record TooManyTimes() implements Result {}

    record TooManyOpen() implements Result {}
  }

  /** Whether a request is valid, as far as that is known without counting. */
  public sealed interface Check {
    record Valid(StoredSchedule schedule) implements Check {}

    record Refused(Result why) implements Check {}
  }

  public Optional<StoredSchedule> schedule(TenantId tenant, String name) {
    return db.inTransaction(tx -> Schedules.find(tx, tenant, name));
  }

  /** Checks a request before its nominal times are counted. */
  public Check check(TenantId tenant, String schedule, Request request) {
    return db.inTransaction(
        tx -> {
          Optional<StoredSchedule> found = Schedules.find(tx, tenant, schedule);
          if (found.isEmpty()) {
            return new Check.Refused(new Result.NotFound());
          }
          Instant now = DbClock.now(tx);
          if (request.to().isAfter(now)) {
            return new Check.Refused(new Result.NotPast(now));
          }
          Instant known = known(now);
          return isForgotten(found.get(), request, known)
              ? new Check.Refused(new Result.Forgotten(known))
              : new Check.Valid(found.get());
        });
  }

  /** The earliest time whose fires are certainly recorded, in whole minutes. */
  private Instant known(Instant now) {
    return now.minus(fireRetention).plus(MARGIN).truncatedTo(ChronoUnit.MINUTES);
  }

  /** A schedule had no fires before it was created. */
  private static boolean isForgotten(StoredSchedule schedule, Request request, Instant known) {
    Instant createdAt = schedule.createdAt();
    return !request.again()
        && createdAt.isBefore(known)
        && request.from().isBefore(known)
        && !request.to().isBefore(createdAt);
  }

  /**
   * The counted nominal times of a request.
   *
   * @param firing the times outside DST gaps
   */
  public record Range(StoredSchedule schedule, Request request, int times, List<Instant> firing) {

    public Range {
      firing = List.copyOf(firing);
    }
  }

  /**
   * Counts nominal times without holding a database connection. Empty if there are more than a
   * backfill may have, or too many to count before the timeout.
   */
  public Optional<Range> count(StoredSchedule schedule, Request request) {
    Timetable timetable = timetables.apply(schedule);
    long begun = System.nanoTime();
    Instant after = before(request.from());
    int times = 0;
    List<Instant> firing = new ArrayList<>();
    while (true) {
      Duration left = COUNT_TIMEOUT.minusNanos(System.nanoTime() - begun);
      NominalTimes some =
          NominalTimes.of(
              schedule.schedule(),
              timetable,
              after,
              request.to(),
              BackfillSteps.BATCH,
              left.isNegative() ? Duration.ZERO : left);
      times += some.times().size();
      some.times().stream().filter(NominalTime::fires).map(NominalTime::at).forEach(firing::add);
      if (times > MAX_TIMES || (left.isNegative() && !some.isOver())) {
        return Optional.empty();
      }
      if (some.isOver()) {
        return Optional.of(new Range(schedule, request, times, firing));
      }
      after = some.upTo();
    }
  }

  /** The last microsecond before this time: the database stores no finer ones. */
  private static Instant before(Instant from) {
    return from.minusNanos(1).truncatedTo(ChronoUnit.MICROS);
  }

  /** Returns what a backfill would find, and starts none. */
  public Result dryRun(Range range) {
    int existing = 0;
    List<Instant> firing = range.firing();
    for (int from = 0; from < firing.size(); from += BackfillSteps.BATCH) {
      List<Instant> some =
          firing.subList(from, Math.min(firing.size(), from + BackfillSteps.BATCH));
      existing += db.inTransaction(tx -> BackfillSteps.taken(tx, range.schedule(), some)).size();
    }
    return new Result.Counted(range.times(), existing);
  }

  private static final String START =
      """
      /* Backfills.start */
      INSERT INTO carillon.backfill (
          id, tenant, schedule, name, state, from_at, to_at, overlap, times, cursor, due_at, created_at, created_by)
      VALUES (?, ?, ?, ?, 'RUNNING', ?, ?, ?, ?, ?, ?, ?, ?)
      """;

  private static final String OPEN_OF_TENANT =
      """
      /* Backfills.openOfTenant */
      SELECT count(*) AS open
      FROM carillon.backfill
      WHERE tenant = ?
        AND state = 'RUNNING'
      """;

  /** Starts a backfill; the leader's loop takes its steps. */
  public Result start(Tx tx, Range range, String who) {
    TenantId tenant = range.schedule().tenant();
    String schedule = range.schedule().schedule().name();
    Request request = range.request();
    if (tx.query(OPEN_OF_TENANT, row -> row.getLong("open"), tenant).getFirst() >= MAX_OPEN) {
      return new Result.TooManyOpen();
    }
    Instant now = DbClock.now(tx);
    UUID id = UUID.randomUUID();
    tx.update(
        START,
        id,
        tenant,
        range.schedule().id(),
        schedule,
        request.from(),
        request.to(),
        request.overlap().name(),
        range.times(),
        before(request.from()),
        now,
        now,
        who);
    ObjectNode detail =
        JsonNodeFactory.instance
            .objectNode()
            .put("id", id.toString())
            .put("from", request.from().toString())
            .put("to", request.to().toString())
            .put("overlap", request.overlap().label())
            .put("again", request.again())
            .put("times", range.times());
    Audit.record(tx, tenant, who, "schedule.backfill", schedule, detail.toString());
    return saved(tx, tenant, schedule, id);
  }

  /** Not found if its schedule was deleted meanwhile; the caller then rolls back. */
  private static Result saved(Tx tx, TenantId tenant, String schedule, UUID id) {
    return find(tx, tenant, schedule, id)
        .<Result>map(Result.Saved::new)
        .orElseGet(Result.NotFound::new);
  }

  private static final String COLUMNS =
      """
      b.id, s.name, s.type, b.state, b.from_at, b.to_at, b.overlap, b.times, b.created, b.existing, b.skipped,
      b.created_at, b.created_by, b.finished_at
      """;

  private static Backfill backfill(ResultSet row) throws SQLException {
    return new Backfill(
        Sql.uuid(row, "id"),
        row.getString("name"),
        row.getString("type"),
        Backfill.State.valueOf(row.getString("state")),
        Sql.requiredInstant(row, "from_at"),
        Sql.requiredInstant(row, "to_at"),
        OverlapRule.valueOf(row.getString("overlap")),
        row.getInt("times"),
        row.getInt("created"),
        row.getInt("existing"),
        row.getInt("skipped"),
        Sql.requiredInstant(row, "created_at"),
        row.getString("created_by"),
        Sql.instant(row, "finished_at"));
  }

  private static final String FIND =
      """
      /* Backfills.find */
      SELECT %s
      FROM carillon.backfill b
      JOIN carillon.schedule s ON s.id = b.schedule
      WHERE b.id = ?
        AND b.tenant = ?
        AND s.name = ?
      """
          .formatted(COLUMNS);

  public Optional<Backfill> find(TenantId tenant, String schedule, UUID id) {
    return db.inTransaction(tx -> find(tx, tenant, schedule, id));
  }

  private static Optional<Backfill> find(Tx tx, TenantId tenant, String schedule, UUID id) {
    return tx.queryOne(FIND, Backfills::backfill, id, tenant, schedule);
  }

  private static final String LOCK = FIND + "FOR UPDATE OF b\n";

  private static final String STOP =
      """
      /* Backfills.stop */
      UPDATE carillon.backfill
      SET state = 'STOPPED',
          finished_at = clock_timestamp()
      WHERE id = ?
        AND state = 'RUNNING'
      """;

  /** Stops a running backfill. Tasks that it has created stay. */
  public Result stop(Tx tx, TenantId tenant, String schedule, UUID id, String who) {
    Optional<Backfill> found = tx.queryOne(LOCK, Backfills::backfill, id, tenant, schedule);
    if (found.isEmpty()) {
      return new Result.NotFound();
    }
    if (found.get().state() != Backfill.State.RUNNING) {
      return new Result.WrongState(found.get());
    }
    stop(tx, id);
    ObjectNode detail =
        JsonNodeFactory.instance
            .objectNode()
            .put("id", id.toString())
            .put("created", found.get().created());
    Audit.record(tx, tenant, who, "schedule.backfill.stop", schedule, detail.toString());
    return saved(tx, tenant, schedule, id);
  }

  static void stop(Tx tx, UUID id) {
    tx.update(STOP, id);
  }

  /** The position of a backfill in lists; a page ends at one. */
  public record Position(Instant at, UUID id) {}

  private static final String LIST =
      """
      /* Backfills.list */
      SELECT %s
      FROM carillon.schedule s
      JOIN carillon.backfill b ON b.schedule = s.id
      WHERE s.id = ?
        AND (b.created_at, b.id) < (?, ?)
      ORDER BY b.created_at DESC, b.id DESC
      LIMIT ?
      """
          .formatted(COLUMNS);

  private static final Position LAST =
      new Position(Instant.parse("9999-12-31T00:00:00Z"), new UUID(-1L, -1L));

  /** A page of backfills, newest first. */
  public Page<Backfill, Position> list(
      StoredSchedule schedule, int limit, @Nullable Position before) {
    Position from = before == null ? LAST : before;
    List<Backfill> found =
        db.inTransaction(
            tx ->
                tx.query(
                    LIST, Backfills::backfill, schedule.id(), from.at(), from.id(), limit + 1));
    return Page.of(found, limit, last -> new Position(last.createdAt(), last.id()));
  }

  private static final String FORGET =
      """
      /* Backfills.forgetOld */
      DELETE FROM carillon.backfill
      WHERE id = ANY (ARRAY(
          SELECT id
          FROM carillon.backfill
          WHERE finished_at < (SELECT clock_timestamp() - make_interval(secs => ?))
          ORDER BY finished_at
          LIMIT ?))
      """;

  /** Deletes backfills that ended long ago, and returns how many. */
  public int forgetOld(int limit) {
    return db.inTransaction(tx -> tx.update(FORGET, RETENTION.toSeconds(), limit));
  }
}
