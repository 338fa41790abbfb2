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
 * Past nominal times of schedules on their way to become tasks after all. A backfill is a row that
 * says how far it has come; {@link BackfillSteps} takes it further.
 */
public final class Backfills {

  /** One backfill has at most so many nominal times. */
  public static final int MOST_TIMES = 100_000;

  /** A tenant has about this many under way at most, so that the others' steps come in time. */
  public static final int MOST_OPEN = 20;

  /** How long a request may count nominal times. */
  private static final Duration COUNT_PATIENCE = Duration.ofSeconds(3);

  private static final Duration KEPT = Duration.ofDays(7);

  private final Db db;

  /** Fires are recorded a little ahead of their time, and forgotten while a backfill goes on. */
  private static final Duration MARGIN = Duration.ofHours(1);

  private final Function<StoredSchedule, Timetable> timetables;
  private final Duration retention;

  /**
   * On this database.
   *
   * @param retention how long fires are remembered
   */
  public Backfills(Db db, Function<StoredSchedule, Timetable> timetables, Duration retention) {
    this.db = db;
    this.timetables = timetables;
    this.retention = retention;
  }

  /**
   * What is asked for.
   *
   * @param overlap QUEUE: no two of its tasks run at a time; ALLOW: they may
   * @param again also times whose fires are forgotten, which may have had their tasks
   */
  public record Asked(Instant from, Instant to, OverlapRule overlap, boolean again) {}

  /** What became of a wish. */
  public sealed interface Result {
    /** Started, or changed. */
    record Saved(Backfill backfill) implements Result {}

    /** Nothing was started: what it would have found. */
    record Counted(int times, int existing) implements Result {}

    record NotFound() implements Result {}

    /** It is over, and cannot be stopped. */
    record WrongState(Backfill backfill) implements Result {}

    /** Nominal times that are not over are the planner's. */
    record NotPast(Instant now) implements Result {}

    /**
     * Whether some of its times had their tasks is not remembered.
     *
     * @param known the earliest time of which it is
     */
    record Forgotten(Instant known) implements Result {}

    record TooManyTimes() implements Result {}

    record TooManyOpen() implements Result {}
  }

  /** Whether something can be asked for, as far as that can be said without counting. */
  public sealed interface Look {
    record Good(StoredSchedule schedule) implements Look {}

    record Refused(Result why) implements Look {}
  }

  public Optional<StoredSchedule> schedule(TenantId tenant, String name) {
    return db.inTransaction(tx -> Schedules.find(tx, tenant, name));
  }

  /** Comes before anything else that takes time. */
  public Look look(TenantId tenant, String schedule, Asked asked) {
    return db.inTransaction(
        tx -> {
          Optional<StoredSchedule> found = Schedules.find(tx, tenant, schedule);
          if (found.isEmpty()) {
            return new Look.Refused(new Result.NotFound());
          }
          Instant now = DbClock.now(tx);
          if (asked.to().isAfter(now)) {
            return new Look.Refused(new Result.NotPast(now));
          }
          Instant known = known(now);
          return isForgotten(found.get(), asked, known)
              ? new Look.Refused(new Result.Forgotten(known))
              : new Look.Good(found.get());
        });
  }

  /** The earliest time whose fire is remembered for sure, in whole minutes. */
  private Instant known(Instant now) {
    return now.minus(retention).plus(MARGIN).truncatedTo(ChronoUnit.MINUTES);
  }

  /** Before it was made a schedule has fired nothing. */
  private static boolean isForgotten(StoredSchedule schedule, Asked asked, Instant known) {
    Instant made = schedule.createdAt();
    return !asked.again()
        && made.isBefore(known)
        && asked.from().isBefore(known)
        && !asked.to().isBefore(made);
  }

  /**
   * What is in a range.
   *
   * @param firing those of its times that do not fall into a gap
   */
  public record Range(StoredSchedule schedule, Asked asked, int times, List<Instant> firing) {

    public Range {
      firing = List.copyOf(firing);
    }
  }

  /**
   * Counts without the database, which nobody should keep busy for that long. Empty if there are
   * more than a backfill may have, or too many to be counted in time.
   */
  public Optional<Range> count(StoredSchedule schedule, Asked asked) {
    Timetable timetable = timetables.apply(schedule);
    long begun = System.nanoTime();
    Instant after = before(asked.from());
    int times = 0;
    List<Instant> firing = new ArrayList<>();
    while (true) {
      Duration left = COUNT_PATIENCE.minusNanos(System.nanoTime() - begun);
      NominalTimes some =
          NominalTimes.of(
              schedule.schedule(),
              timetable,
              after,
              asked.to(),
              BackfillSteps.BATCH,
              left.isNegative() ? Duration.ZERO : left);
      times += some.times().size();
      some.times().stream().filter(NominalTime::fires).map(NominalTime::at).forEach(firing::add);
      if (times > MOST_TIMES || (left.isNegative() && !some.isOver())) {
        return Optional.empty();
      }
      if (some.isOver()) {
        return Optional.of(new Range(schedule, asked, times, firing));
      }
      after = some.upTo();
    }
  }

  /** The last moment before it that the database can tell from it. */
  private static Instant before(Instant from) {
    return from.minusNanos(1).truncatedTo(ChronoUnit.MICROS);
  }

  /** Says what a backfill would find, and starts none. */
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

  /** Starts one; whoever looks after backfills takes its steps. */
  public Result start(Tx tx, Range range, String who) {
    TenantId tenant = range.schedule().tenant();
    String schedule = range.schedule().schedule().name();
    Asked asked = range.asked();
    if (tx.query(OPEN_OF_TENANT, row -> row.getLong("open"), tenant).getFirst() >= MOST_OPEN) {
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
        asked.from(),
        asked.to(),
        asked.overlap().name(),
        range.times(),
        before(asked.from()),
        now,
        now,
        who);
    ObjectNode detail =
        JsonNodeFactory.instance
            .objectNode()
            .put("id", id.toString())
            .put("from", asked.from().toString())
            .put("to", asked.to().toString())
            .put("overlap", asked.overlap().label())
            .put("again", asked.again())
            .put("times", range.times());
    Audit.record(tx, tenant, who, "schedule.backfill", schedule, detail.toString());
    return saved(tx, tenant, schedule, id);
  }

  /** Not found if its schedule was deleted meanwhile; the caller then keeps nothing of it. */
  private static Result saved(Tx tx, TenantId tenant, String schedule, UUID id) {
    return find(tx, tenant, schedule, id)
        .<Result>map(Result.Saved::new)
        .orElseGet(Result.NotFound::new);
  }

  private static final String COLUMNS =
      """
      b.id, s.name, s.type, b.state, b.from_at, b.to_at, b.overlap, b.times, b.made, b.existing, b.skipped,
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
        row.getInt("made"),
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

  /** No further nominal time becomes a task; those that did stay. */
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
            .put("made", found.get().made());
    Audit.record(tx, tenant, who, "schedule.backfill.stop", schedule, detail.toString());
    return saved(tx, tenant, schedule, id);
  }

  static void stop(Tx tx, UUID id) {
    tx.update(STOP, id);
  }

  /** Where a page of backfills ended. */
  public record Started(Instant at, UUID id) {}

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

  private static final Started NOT_YET =
      new Started(Instant.parse("9999-12-31T00:00:00Z"), new UUID(-1L, -1L));

  /** Newest first. */
  public Page<Backfill, Started> list(
      StoredSchedule schedule, int limit, @Nullable Started before) {
    Started from = before == null ? NOT_YET : before;
    List<Backfill> found =
        db.inTransaction(
            tx ->
                tx.query(
                    LIST, Backfills::backfill, schedule.id(), from.at(), from.id(), limit + 1));
    return Page.of(found, limit, last -> new Started(last.createdAt(), last.id()));
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

  /** Forgets what ended long ago; says how many. */
  public int forgetOld(int limit) {
    return db.inTransaction(tx -> tx.update(FORGET, KEPT.toSeconds(), limit));
  }
}
