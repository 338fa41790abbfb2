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
 * Redrives dead letters in bulk. A redrive is a row with a cursor. Each step is one transaction
 * under that row's lock, so each letter is redriven once, whichever node takes the next step and
 * whatever crashes in between.
 */
public final class Redrives {

  /** Letters that the request itself redrives, unless there is a rate. */
  public static final int MAX_AT_ONCE = 10_000;

  /** Tasks redriven last of which those that have not started are counted. */
  private static final int MAX_COUNTED_WAITING = 5_000;

  private static final Duration RETENTION = Duration.ofDays(7);

  /** Open redrives per tenant, approximately, so that other tenants' steps are not delayed. */
  public static final int MAX_OPEN = 20;

  private final Db db;
  private final RedriveSteps steps;

  public Redrives(Db db, DueListener due) {
    this.db = db;
    this.steps = new RedriveSteps(due);
  }

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
   * Starts a redrive. A small one is done in this transaction; the leader's loop continues a larger
   * one step by step. Empty if the tenant has too many open ones.
   */
  public Optional<Redrive> start(
      Tx tx, TenantId tenant, DeadLetterFilter filter, @Nullable Integer rate, String who) {
    Instant createdAt = DbClock.now(tx);
    // Without an upper bound on the time of death, so that the counters of the groups suffice. At
    // most this counts letters that die at this moment.
    DeadLetters.Count count = LetterSearch.count(tx, tenant, filter, DeadLetters.COUNT_TIMEOUT);
    boolean isDoneAtOnce = rate == null && count.matched() <= MAX_AT_ONCE && !count.isAtLeast();
    if (!isDoneAtOnce
        && tx.query(OPEN_OF_TENANT, row -> row.getLong("open"), tenant).getFirst() >= MAX_OPEN) {
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
      // Only one batch, because its groups stay locked until the commit. If it did not find all
      // letters, the others follow step by step.
      steps.redriveBatch(tx, row, MAX_AT_ONCE);
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

  /** A redrive that is not over. */
  public record Open(TenantId tenant, UUID id) {}

  /** Open redrives; those that have waited longest for a step come first. */
  public List<Open> open(int limit) {
    return db.autoCommit(
        tx ->
            tx.query(
                OPEN,
                row -> new Open(new TenantId(row.getInt("tenant")), Sql.uuid(row, "id")),
                limit));
  }

  /** Takes the next step if it is due. Returns the wait until the one after it, empty if none. */
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

  /** Moves a redrive whose step failed behind the others. */
  public void postpone(Open open) {
    db.inTransaction(tx -> tx.update(POSTPONE, open.id()));
  }

  Optional<Duration> step(Tx tx, Open open) {
    return RedriveRow.lock(tx, open.tenant(), open.id()).flatMap(row -> steps.step(tx, row));
  }

  private static final String SET_STATE =
      """
      /* Redrives.setState */
      UPDATE carillon.redrive
      SET state = ?,
          ended_at = CASE WHEN ? THEN clock_timestamp() END,
          undone_by = ?
      WHERE id = ?
      """;

  /** Stops a running redrive. Letters that it has not redriven stay dead. */
  public Result stop(Tx tx, TenantId tenant, UUID id, String who) {
    Optional<RedriveRow> found = RedriveRow.lock(tx, tenant, id);
    if (found.isEmpty()) {
      return new Result.NotFound();
    }
    RedriveRow row = found.get();
    if (row.redrive().state() != Redrive.State.RUNNING) {
      return new Result.WrongState(row.redrive());
    }
    tx.update(SET_STATE, Redrive.State.STOPPED.name(), true, null, id);
    record(tx, row, who, "redrive.stop");
    return new Result.Changed(find(tx, tenant, id).orElseThrow());
  }

  /**
   * Starts to undo a redrive, and stops it if it is running. Steps like those of the redrive then
   * return the tasks that have not started to the dead letters.
   */
  public Result undo(Tx tx, TenantId tenant, UUID id, String who) {
    Optional<RedriveRow> found = RedriveRow.lock(tx, tenant, id);
    if (found.isEmpty()) {
      return new Result.NotFound();
    }
    RedriveRow row = found.get();
    switch (row.redrive().state()) {
      case RUNNING, DONE, STOPPED -> {
        tx.update(SET_STATE, Redrive.State.UNDOING.name(), false, who, id);
        record(tx, row, who, "redrive.undo");
      }
      case UNDOING, UNDONE -> {} // repeated request
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

  // A group's name is a hash, which says nothing to people. An empty group may be deleted before
  // its
  // redrive is. Without a type, this is one index lookup for each type of the tenant.
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
                AND (SELECT t.state = 'PENDING'
                            AND t.fence = o.fence
                            AND (SELECT true -- or it runs
                                 FROM carillon.queue q
                                 WHERE q.partition = t.partition
                                   AND q.lane = t.lane
                                   AND q.ready_at = t.ready_at
                                   AND q.id = t.id
                                 LIMIT 1)
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
        MAX_COUNTED_WAITING,
        id,
        tenant);
  }

  /** The position of a redrive in lists; a page ends at one. */
  public record Position(Instant at, UUID id) {}

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

  private static final Position LAST =
      new Position(Instant.parse("9999-12-31T00:00:00Z"), new UUID(-1L, -1L));

  /** A page of redrives, newest first. */
  public Page<Redrive, Position> list(TenantId tenant, int limit, @Nullable Position before) {
    Position from = before == null ? LAST : before;
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
    return Page.of(found, limit, last -> new Position(last.createdAt(), last.id()));
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

  /** Deletes redrives that ended long ago; returns how many {@code redriven} rows it deleted. */
  public int forgetOld(int limit) {
    return db.inTransaction(
        tx -> {
          int deleted = tx.update(FORGET_REDRIVEN, RETENTION.toSeconds(), limit);
          tx.update(FORGET, RETENTION.toSeconds());
          return deleted;
        });
  }
}
