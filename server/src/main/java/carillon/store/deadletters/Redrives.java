package carillon.store.deadletters;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.catalog.Audit;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.DueListener;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
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

  /**
   * Of those that a redrive let go last, so many are looked at to say how many have not started.
   */
  private static final int WAITING_REACH = 5_000;

  private static final Duration KEPT = Duration.ofDays(7);

  /** A tenant has about this many under way at most, so that the others' steps come in time. */
  public static final int MOST_OPEN = 20;

  private final Db db;
  private final RedriveSteps steps;

  public Redrives(Db db, DueListener due) {
    this.db = db;
    this.steps = new RedriveSteps(due);
  }

  /** What became of a change. */
  public sealed interface Result {
    record Changed(Redrive redrive) implements Result {}

    record WrongState(Redrive redrive) implements Result {}

    record NotFound() implements Result {}
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
    Instant createdAt = DbClock.now(tx);
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
    RedriveRow row = RedriveRow.lock(tx, tenant, id).orElseThrow();
    if (isDoneAtOnce) {
      // Once only, because its groups stay locked until the end: if one look did not find them all,
      // the others follow step by step.
      steps.redriveBatch(tx, row, AT_ONCE);
      row = RedriveRow.lock(tx, tenant, id).orElseThrow();
    }
    return Optional.of(row.redrive());
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
    return RedriveRow.lock(tx, open.tenant(), open.id()).flatMap(row -> steps.step(tx, row));
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
    Optional<RedriveRow> found = RedriveRow.lock(tx, tenant, id);
    if (found.isEmpty()) {
      return new Result.NotFound();
    }
    RedriveRow row = found.get();
    if (row.redrive().state() != Redrive.State.RUNNING) {
      return new Result.WrongState(row.redrive());
    }
    tx.update(END, Redrive.State.STOPPED.name(), true, null, id);
    record(tx, row, who, "redrive.stop");
    return new Result.Changed(find(tx, tenant, id).orElseThrow());
  }

  /**
   * Begins to take back what has not started since; a redrive that still runs is stopped by it. The
   * steps of it are then taken as those of the redrive itself.
   */
  public Result undo(Tx tx, TenantId tenant, UUID id, String who) {
    Optional<RedriveRow> found = RedriveRow.lock(tx, tenant, id);
    if (found.isEmpty()) {
      return new Result.NotFound();
    }
    RedriveRow row = found.get();
    switch (row.redrive().state()) {
      case RUNNING, DONE, STOPPED -> {
        tx.update(END, Redrive.State.UNDOING.name(), false, who, id);
        record(tx, row, who, "redrive.undo");
      }
      case UNDOING, UNDONE -> {} // asked for before
    }
    return new Result.Changed(find(tx, tenant, id).orElseThrow());
  }

  private static void record(Tx tx, RedriveRow row, String who, String action) {
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
          .formatted(RedriveRow.COLUMNS, GROUP_ERROR);

  public Optional<Redrive> find(TenantId tenant, UUID id) {
    return db.inTransaction(tx -> find(tx, tenant, id));
  }

  private static Optional<Redrive> find(Tx tx, TenantId tenant, UUID id) {
    return tx.queryOne(
        FIND,
        row -> RedriveRow.redrive(row, Sql.integer(row, "waiting"), row.getString("group_error")),
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
          .formatted(RedriveRow.COLUMNS, GROUP_ERROR);

  private static final Started NOT_YET =
      new Started(Instant.parse("9999-12-31T00:00:00Z"), new UUID(-1L, -1L));

  /** Newest first. */
  public Page<Redrive, Started> list(TenantId tenant, int limit, @Nullable Started before) {
    Started from = before == null ? NOT_YET : before;
    List<Redrive> found =
        db.inTransaction(
            tx ->
                tx.query(
                    LIST,
                    row -> RedriveRow.redrive(row, null, row.getString("group_error")),
                    tenant,
                    from.at(),
                    from.id(),
                    limit + 1));
    return Page.of(found, limit, last -> new Started(last.createdAt(), last.id()));
  }

  private static final String FORGET_REDRIVEN =
      """
      /* Redrives.forgetRedriven */
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
          int forgotten = tx.update(FORGET_REDRIVEN, KEPT.toSeconds(), limit);
          tx.update(FORGET, KEPT.toSeconds());
          return forgotten;
        });
  }
}
