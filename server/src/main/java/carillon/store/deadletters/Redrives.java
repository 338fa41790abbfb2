package carillon.store.deadletters;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.catalog.Audit;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.deadletters.DeadLetters.Position;
import carillon.store.tasks.DueListener;
import carillon.store.tasks.TaskRedrives;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Dead letters on their way back in bulk. A redrive is a row that says how far it has come; each
 * step of it is one transaction under that row's lock, so whoever takes the next step, and whatever
 * dies in between, each letter is let go once.
 */
public final class Redrives {

  /** How many are let go in the request itself, unless there is a rate. */
  public static final int AT_ONCE = 10_000;

  static final int BATCH = 1_000;

  /**
   * A rate is kept in steps that are a fifth of a second apart or more. Any five in a row let go as
   * many as the rate, so no second has more, and 200 a second are not one lump.
   */
  private static final int STEPS_A_SECOND = 5;

  private static final Duration STEP = Duration.ofSeconds(1).dividedBy(STEPS_A_SECOND);

  /**
   * Of those that a redrive let go last, so many are looked at to say how many have not started.
   */
  private static final int WAITING_REACH = 5_000;

  private static final Duration KEPT = Duration.ofDays(7);

  /** A tenant has about this many under way at most, so that the others' steps come in time. */
  public static final int MOST_OPEN = 20;

  private final Db db;
  private final TaskRedrives tasks;

  public Redrives(Db db, DueListener due) {
    this.db = db;
    this.tasks = new TaskRedrives(due);
  }

  /** Where a redrive stands. */
  public enum State {
    RUNNING,
    DONE,
    STOPPED,
    /** Those that have not started are being taken back. */
    UNDOING,
    UNDONE;

    public boolean isOver() {
      return this != RUNNING && this != UNDOING;
    }
  }

  /**
   * A redrive, for showing.
   *
   * @param filter JSON, as it was asked for, but of the ids only how many they are
   * @param rate per second; null means as fast as it goes
   * @param matched when it was started
   * @param isAtLeast whether those were not counted to the end
   * @param refused dead letters that were met and could not be redriven
   * @param waiting of those redriven last, how many have not started yet; null where not asked for
   * @param groupError what the letters of the group died of, if it was of one that is still known;
   *     null where not asked for
   */
  public record Redrive(
      UUID id,
      State state,
      String filter,
      @Nullable Integer rate,
      String who,
      Instant createdAt,
      @Nullable Instant endedAt,
      long matched,
      boolean isAtLeast,
      long redriven,
      long refused,
      long undone,
      @Nullable Integer waiting,
      @Nullable String groupError) {}

  /** What became of a change. */
  public sealed interface Result {
    record Changed(Redrive redrive) implements Result {}

    record WrongState(Redrive redrive) implements Result {}

    record NotFound() implements Result {}
  }

  private static final String COLUMNS =
      """
      id, tenant, state, filter, rate, who, created_at, ended_at, matched, at_least, redriven, refused, undone,
      after_at, after_task, steps, stepped_at, undone_by
      """;

  record Row(
      Redrive redrive,
      TenantId tenant,
      List<TaskId> ids,
      @Nullable Position after,
      long steps,
      @Nullable Instant steppedAt,
      @Nullable String undoneBy) {

    private DeadLetterFilter filter() {
      return DeadLetterFilter.parse(redrive.filter(), ids).until(redrive.createdAt());
    }
  }

  private static Row row(ResultSet row) throws SQLException {
    Instant afterAt = Sql.instant(row, "after_at");
    return new Row(
        redrive(row, null, null),
        new TenantId(row.getInt("tenant")),
        Stream.of(Sql.uuids(row, "ids")).map(TaskId::new).toList(),
        afterAt == null ? null : new Position(afterAt, new TaskId(Sql.uuid(row, "after_task"))),
        row.getLong("steps"),
        Sql.instant(row, "stepped_at"),
        row.getString("undone_by"));
  }

  private static Redrive redrive(
      ResultSet row, @Nullable Integer waiting, @Nullable String groupError) throws SQLException {
    return new Redrive(
        Sql.uuid(row, "id"),
        State.valueOf(row.getString("state")),
        row.getString("filter"),
        Sql.integer(row, "rate"),
        row.getString("who"),
        Sql.requiredInstant(row, "created_at"),
        Sql.instant(row, "ended_at"),
        row.getLong("matched"),
        row.getBoolean("at_least"),
        row.getLong("redriven"),
        row.getLong("refused"),
        row.getLong("undone"),
        waiting,
        groupError);
  }

  private static final String NOW =
      """
      /* Redrives.now */
      SELECT clock_timestamp() AS now
      """;

  private static Instant now(Tx tx) {
    return tx.query(NOW, row -> Sql.requiredInstant(row, "now")).getFirst();
  }

  private static final String START =
      """
      /* Redrives.start */
      INSERT INTO carillon.redrive (id, tenant, state, filter, ids, rate, who, created_at, matched, at_least)
      VALUES (?, ?, 'RUNNING', ?::jsonb, ?, ?, ?, ?, ?, ?)
      """;

  private static final String OPEN_OF_TENANT =
      """
      /* Redrives.openOfTenant */
      SELECT count(*) AS open
      FROM carillon.redrive
      WHERE tenant = ?
        AND ended_at IS NULL
      """;

  /**
   * Starts one. What fits into this transaction is done in it; else whoever looks after redrives
   * goes on with it, a step at a time. Empty if the tenant has too many of the latter.
   */
  public Optional<Redrive> start(
      Tx tx, TenantId tenant, DeadLetterFilter filter, @Nullable Integer rate, String who) {
    Instant createdAt = now(tx);
    // Not only until now, because then the groups could not say it. What dies now is counted, at
    // most.
    DeadLetters.Count count = LetterSearch.count(tx, tenant, filter, DeadLetters.COUNT_PATIENCE);
    boolean isDoneAtOnce = rate == null && count.matched() <= AT_ONCE && !count.isAtLeast();
    if (!isDoneAtOnce
        && tx.query(OPEN_OF_TENANT, row -> row.getLong("open"), tenant).getFirst() >= MOST_OPEN) {
      return Optional.empty();
    }
    UUID id = UUID.randomUUID();
    tx.update(
        START,
        id,
        tenant,
        filter.summary().toString(),
        Column.uuids(filter.ids(), TaskId::value),
        rate,
        who,
        createdAt,
        count.matched(),
        count.isAtLeast());
    ObjectNode detail = JsonNodeFactory.instance.objectNode().put("matched", count.matched());
    if (rate != null) {
      detail.put("rate", rate);
    }
    Audit.record(
        tx,
        tenant,
        who,
        "redrive.start",
        id.toString(),
        detail.set("filter", filter.summary()).toString());
    Row row = lock(tx, tenant, id).orElseThrow();
    if (isDoneAtOnce) {
      // Once only, because its groups stay locked until the end: if one look did not find them all,
      // the others follow step by step.
      redriveBatch(tx, row, AT_ONCE);
      row = lock(tx, tenant, id).orElseThrow();
    }
    return Optional.of(row.redrive());
  }

  private static final String LOCK =
      """
      /* Redrives.lock */
      SELECT %s, ids
      FROM carillon.redrive
      WHERE id = ?
        AND tenant = ?
      FOR UPDATE
      """
          .formatted(COLUMNS);

  private static Optional<Row> lock(Tx tx, TenantId tenant, UUID id) {
    return tx.queryOne(LOCK, Redrives::row, id, tenant);
  }

  private static final String OPEN =
      """
      /* Redrives.open */
      SELECT id, tenant
      FROM carillon.redrive
      WHERE ended_at IS NULL
      ORDER BY stepped_at NULLS FIRST, created_at
      LIMIT ?
      """;

  /** One that has steps before it. */
  public record Open(TenantId tenant, UUID id) {}

  /** Those first that have had no step for the longest time, so that each has its turn. */
  public List<Open> open(int limit) {
    return db.ask(
        tx ->
            tx.query(
                OPEN,
                row -> new Open(new TenantId(row.getInt("tenant")), Sql.uuid(row, "id")),
                limit));
  }

  /**
   * Takes the next step, if it is time for one. Says how long to wait for the one after it; empty
   * if there is none.
   */
  public Optional<Duration> step(Open open) {
    return db.inTransaction(tx -> step(tx, open));
  }

  private static final String POSTPONE =
      """
      /* Redrives.postpone */
      UPDATE carillon.redrive
      SET stepped_at = clock_timestamp()
      WHERE id = ?
      """;

  /** Gives up its turn for one whose step failed: the others come first. */
  public void postpone(Open open) {
    db.inTransaction(tx -> tx.update(POSTPONE, open.id()));
  }

  Optional<Duration> step(Tx tx, Open open) {
    return lock(tx, open.tenant(), open.id())
        .flatMap(
            row ->
                switch (row.redrive().state()) {
                  case RUNNING -> stepForward(tx, row);
                  case UNDOING -> RedriveUndo.step(tx, row);
                  case DONE, STOPPED, UNDONE -> Optional.empty();
                });
  }

  private Optional<Duration> stepForward(Tx tx, Row row) {
    Integer rate = row.redrive().rate();
    if (rate == null) {
      return redriveBatch(tx, row, BATCH) ? Optional.empty() : Optional.of(Duration.ZERO);
    }
    if (row.steppedAt() != null) {
      // Asked under the lock: who waited for it has waited for another node's step.
      Duration early = Duration.between(now(tx), row.steppedAt().plus(STEP));
      if (early.isPositive()) {
        return Optional.of(early);
      }
    }
    long share = (row.steps() + 1) * rate / STEPS_A_SECOND - row.steps() * rate / STEPS_A_SECOND;
    return redriveBatch(tx, row, (int) share) ? Optional.empty() : Optional.of(STEP);
  }

  private static final String NOTE =
      """
      /* Redrives.note */
      WITH letter AS MATERIALIZED (
          -- No join: the planner would compare all with all, rather than sort by id.
          SELECT t.*,
                 (SELECT d.died_at FROM carillon.dead_letter d WHERE d.tenant = t.tenant AND d.task = t.id) AS died_at,
                 (SELECT d.kept_from FROM carillon.dead_letter d WHERE d.tenant = t.tenant AND d.task = t.id) AS kept_from
          FROM carillon.task_{partition} t
          WHERE t.tenant = ?
            AND t.id = ANY (?)
            AND t.state = 'DEAD'
          ORDER BY t.id
          FOR UPDATE OF t -- a redrive, an edit or a purge by hand comes before us or after us
      )
      INSERT INTO carillon.redriven (
          redrive, n, tenant, task, partition, fence, attempt, crashes, due_at, expires_at, finished_at, died_at, kept_from)
      SELECT ?, ? + row_number() OVER (ORDER BY died_at, id), tenant, id, partition, fence, attempt, crashes, due_at,
             expires_at, finished_at, coalesce(died_at, finished_at), coalesce(kept_from, finished_at)
      FROM letter
      RETURNING task
      """;

  private static final String STILL_THERE =
      """
      /* Redrives.stillThere */
      SELECT count(*) AS letters
      FROM carillon.dead_letter
      WHERE tenant = ?
        AND task = ANY (?)
      """;

  private static final String ADVANCE =
      """
      /* Redrives.advance */
      UPDATE carillon.redrive
      SET redriven = redriven + ?,
          refused = refused + ?,
          matched = greatest(matched, redriven + refused + ?), -- some may have died while we counted
          after_at = ?,
          after_task = ?,
          steps = steps + 1,
          stepped_at = clock_timestamp(),
          at_least = at_least AND NOT ?,
          state = CASE WHEN ? THEN 'DONE' ELSE state END,
          ended_at = CASE WHEN ? THEN clock_timestamp() END
      WHERE id = ?
      """;

  /** Redrives the next ones, and says whether they were the last. */
  private boolean redriveBatch(Tx tx, Row row, int most) {
    Redrive redrive = row.redrive();
    TenantId tenant = row.tenant();
    Page<Position, Position> page =
        most == 0
            ? new Page<>(List.of(), row.after() == null ? before(row) : row.after())
            : LetterSearch.page(
                tx, tenant, row.filter(), LetterSearch.Order.OLDEST_FIRST, row.after(), most);
    Set<TaskId> redriven = new HashSet<>();
    DeadLetters.byPartition(page.items())
        .forEach(
            (partition, letters) -> {
              List<TaskId> noted =
                  tx.query(
                      Sql.forPartition(NOTE, partition),
                      noted -> new TaskId(Sql.uuid(noted, "task")),
                      tenant,
                      Column.uuids(letters, letter -> letter.id().value()),
                      redrive.id(),
                      redrive.redriven() + redriven.size());
              redriven.addAll(
                  tasks.redrive(
                      tx, tenant, partition, noted, redrive.who(), "redrive " + redrive.id()));
            });
    long refused = removeLetters(tx, tenant, page.items(), redriven);
    boolean isOver = page.next() == null;
    Position end = isOver ? row.after() : page.next();
    tx.update(
        ADVANCE,
        redriven.size(),
        refused,
        redriven.size() + refused,
        end == null ? null : end.diedAt(),
        end == null ? null : end.id(),
        isOver,
        isOver,
        isOver,
        redrive.id());
    if (isOver) {
      Audit.record(
          tx,
          tenant,
          redrive.who(),
          "redrive.done",
          redrive.id().toString(),
          JsonNodeFactory.instance
              .objectNode()
              .put("redriven", redrive.redriven() + redriven.size())
              .put("refused", redrive.refused() + refused)
              .toString());
    }
    return isOver;
  }

  /** Before all dead letters that it may mean. */
  private static Position before(Row row) {
    Instant first = row.filter().diedAfter();
    return new Position(
        first == null ? Instant.parse("0001-01-01T00:00:00Z") : first, new TaskId(new UUID(0, 0)));
  }

  /**
   * As the last of all, because it locks the groups that others want to add to. Says how many there
   * are of which the task was not dead after all: they cannot be redriven, and nobody should have
   * to find out.
   */
  private static long removeLetters(Tx tx, TenantId tenant, List<Position> met, Set<TaskId> redriven) {
    if (!redriven.isEmpty()) {
      TaskRedrives.deleteLetters(tx, tenant, redriven);
    }
    if (redriven.size() == met.size()) {
      return 0;
    }
    List<TaskId> others = met.stream().map(Position::id).filter(id -> !redriven.contains(id)).toList();
    return tx.query(
            STILL_THERE, row -> row.getLong("letters"), tenant, Column.uuids(others, TaskId::value))
        .getFirst();
  }

  private static final String END =
      """
      /* Redrives.end */
      UPDATE carillon.redrive
      SET state = ?,
          ended_at = CASE WHEN ? THEN clock_timestamp() END,
          undone_by = ?
      WHERE id = ?
      """;

  /** No further letter is let go; what was not redriven stays dead. */
  public Result stop(Tx tx, TenantId tenant, UUID id, String who) {
    Optional<Row> found = lock(tx, tenant, id);
    if (found.isEmpty()) {
      return new Result.NotFound();
    }
    Row row = found.get();
    if (row.redrive().state() != State.RUNNING) {
      return new Result.WrongState(row.redrive());
    }
    tx.update(END, State.STOPPED.name(), true, null, id);
    record(tx, row, who, "redrive.stop");
    return new Result.Changed(find(tx, tenant, id).orElseThrow());
  }

  /**
   * Begins to take back what has not started since; a redrive that still runs is stopped by it. The
   * steps of it are then taken as those of the redrive itself.
   */
  public Result undo(Tx tx, TenantId tenant, UUID id, String who) {
    Optional<Row> found = lock(tx, tenant, id);
    if (found.isEmpty()) {
      return new Result.NotFound();
    }
    Row row = found.get();
    switch (row.redrive().state()) {
      case RUNNING, DONE, STOPPED -> {
        tx.update(END, State.UNDOING.name(), false, who, id);
        record(tx, row, who, "redrive.undo");
      }
      case UNDOING, UNDONE -> {} // asked for before
    }
    return new Result.Changed(find(tx, tenant, id).orElseThrow());
  }

  private static void record(Tx tx, Row row, String who, String action) {
    Redrive redrive = row.redrive();
    Audit.record(
        tx,
        row.tenant(),
        who,
        action,
        redrive.id().toString(),
        JsonNodeFactory.instance
            .objectNode()
            .put("matched", redrive.matched())
            .put("redriven", redrive.redriven())
            .toString());
  }

  // A group's name is a hash, which tells nobody anything. An empty group may be forgotten before
  // its redrive is. Without a type it is one jump for each that there is.
  private static final String GROUP_ERROR =
      """
      CASE WHEN r.filter ->> 'group' IS NOT NULL THEN
             (SELECT left(g.error, 500)
              FROM carillon.dead_letter_group g
              WHERE g.tenant = r.tenant
                AND g.type = ANY (
                    CASE WHEN r.filter ->> 'type' IS NOT NULL THEN ARRAY[r.filter ->> 'type']
                         ELSE ARRAY(SELECT DISTINCT l.type FROM carillon.lane l WHERE l.tenant = r.tenant) END)
                AND g.fingerprint = r.filter ->> 'group'
              LIMIT 1) END AS group_error\
      """;

  private static final String FIND =
      """
      /* Redrives.find */
      SELECT %s, %s,
             (SELECT count(*)
              FROM carillon.redriven o
              WHERE o.redrive = r.id
                AND o.n > r.redriven - ?
                AND (SELECT t.state = 'PENDING' AND t.fence = o.fence
                     FROM carillon.task t
                     WHERE t.tenant = o.tenant
                       AND t.id = o.task
                       AND t.partition = o.partition)) AS waiting
      FROM carillon.redrive r
      WHERE id = ?
        AND tenant = ?
      """
          .formatted(COLUMNS, GROUP_ERROR);

  public Optional<Redrive> find(TenantId tenant, UUID id) {
    return db.inTransaction(tx -> find(tx, tenant, id));
  }

  private static Optional<Redrive> find(Tx tx, TenantId tenant, UUID id) {
    return tx.queryOne(
        FIND,
        row -> redrive(row, Sql.integer(row, "waiting"), row.getString("group_error")),
        WAITING_REACH,
        id,
        tenant);
  }

  /** Where a page of redrives ended. */
  public record Started(Instant at, UUID id) {}

  private static final String LIST =
      """
      /* Redrives.list */
      SELECT %s, %s
      FROM carillon.redrive r
      WHERE tenant = ?
        AND (created_at, id) < (?, ?)
      ORDER BY created_at DESC, id DESC
      LIMIT ?
      """
          .formatted(COLUMNS, GROUP_ERROR);

  private static final Started NOT_YET =
      new Started(Instant.parse("9999-12-31T00:00:00Z"), new UUID(-1L, -1L));

  /** Newest first. */
  public Page<Redrive, Started> list(TenantId tenant, int limit, @Nullable Started before) {
    Started from = before == null ? NOT_YET : before;
    List<Redrive> found =
        new ArrayList<>(
            db.inTransaction(
                tx ->
                    tx.query(
                        LIST,
                        row -> redrive(row, null, row.getString("group_error")),
                        tenant,
                        from.at(),
                        from.id(),
                        limit + 1)));
    if (found.size() <= limit) {
      return new Page<>(found, null);
    }
    Redrive last = found.get(limit - 1);
    return new Page<>(found.subList(0, limit), new Started(last.createdAt(), last.id()));
  }

  private static final String FORGET_LET_GO =
      """
      /* Redrives.forgetLetGo */
      DELETE FROM carillon.redriven
      WHERE (redrive, n) IN (
          SELECT o.redrive, o.n
          FROM carillon.redrive r
          JOIN carillon.redriven o ON o.redrive = r.id
          WHERE r.ended_at < clock_timestamp() - make_interval(secs => ?)
          LIMIT ?
      )
      """;

  private static final String FORGET =
      """
      /* Redrives.forgetOld */
      DELETE FROM carillon.redrive r
      WHERE r.ended_at < clock_timestamp() - make_interval(secs => ?)
        AND NOT EXISTS (SELECT FROM carillon.redriven o WHERE o.redrive = r.id)
      """;

  /** Forgets what ended long ago, with what it let go; says how many rows of the latter. */
  public int forgetOld(int limit) {
    return db.inTransaction(
        tx -> {
          int forgotten = tx.update(FORGET_LET_GO, KEPT.toSeconds(), limit);
          tx.update(FORGET, KEPT.toSeconds());
          return forgotten;
        });
  }
}
