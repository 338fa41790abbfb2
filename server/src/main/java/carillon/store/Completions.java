package carillon.store;

import static java.util.Objects.requireNonNull;

import carillon.model.Lease;
import carillon.model.Slot;
import carillon.model.TaskId;
import carillon.model.TenantId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The way nearly every task ends, so it does nothing else. The claim and this end are not written
 * as transitions: the row says them, and the view every_transition reads them there. Unless
 * somebody else than the holder ended it.
 */
final class Completions {

  /** From so many on, a statement of their own takes less than their share of the other one. */
  private static final int MANY = 200;

  /** What both leave behind and answer. */
  private static final String COMPLETED =
      """
          RETURNING t.tenant, t.id, t.slot, t.lane, t.attempt, t.fence, t.leased_by, t.finished_at,
                    t.concurrency_key, t.on_complete
      ), trail AS (
          INSERT INTO carillon.transition_{slot} (tenant, task, slot, at, from_state, to_state, fence, who)
          SELECT tenant, id, slot, finished_at, 'RUNNING', 'COMPLETED', fence, ?
          FROM done
          WHERE leased_by <> ?
      ), keys AS (
          DELETE FROM carillon.running_key k
          USING done
          WHERE done.concurrency_key IS NOT NULL
            AND k.tenant = done.tenant
            AND k.type = (SELECT l.type FROM carillon.lane l WHERE l.id = done.lane)
            AND k.key = done.concurrency_key
            AND k.task = done.id
      )
      SELECT id, lane, attempt, concurrency_key IS NOT NULL AS keyed, on_complete AS callback
      FROM done
      """;

  private static final String EACH =
      """
      /* Completions.each */
      WITH done AS (
          UPDATE carillon.task_{slot} t
          SET state = 'COMPLETED',
              finished_at = clock_timestamp(),
              version = t.version + 1,
              claim = NULL,
              lease_until = NULL,
              status = f.status,
              output = f.output,
              request = f.request,
              progress = coalesce(f.progress, t.progress)
          FROM unnest(?::int[], ?::uuid[], ?::int[], ?::uuid[], ?::smallint[], ?::text[], ?::text[], ?::text[])
               AS f (tenant, id, fence, claim, status, output, progress, request)
          WHERE t.tenant = f.tenant
            AND t.id = f.id
            AND t.state = 'RUNNING'
            AND t.fence = f.fence -- the fence: who lost its lease can no longer write
            AND t.claim = f.claim
      """
          + COMPLETED;

  private Completions() {}

  /** What completions have in common that one short statement can write. */
  private record Alike(TenantId tenant, Lease lease) {

    /** Null for one that has something of its own to say. */
    static @Nullable Alike of(Endings.Ending ending) {
      boolean saysNothing =
          ending.status() == null
              && ending.output() == null
              && ending.progress() == null
              && ending.request() == null;
      return saysNothing ? new Alike(ending.tenant(), ending.lease()) : null;
    }
  }

  /** Writes those that are still held as they say, and returns them. */
  static List<Endings.Done> write(Tx tx, Slot slot, List<Endings.Ending> endings, String who) {
    Map<Alike, List<Endings.Ending>> groups = new LinkedHashMap<>();
    List<Endings.Ending> others = new ArrayList<>();
    for (Endings.Ending ending : endings) {
      Alike alike = Alike.of(ending);
      (alike == null ? others : groups.computeIfAbsent(alike, _ -> new ArrayList<>())).add(ending);
    }
    List<Endings.Done> done = new ArrayList<>(endings.size());
    for (List<Endings.Ending> some : groups.values()) {
      if (some.size() < MANY) {
        others.addAll(some);
      } else {
        done.addAll(writeAlike(tx, slot, some, who));
      }
    }
    others.sort(Endings.BY_ID);
    done.addAll(writeEach(tx, slot, others, who));
    return done;
  }

  /**
   * The same for tasks of one claim that have nothing to say for themselves: found by one walk
   * along the key and not by one look-up each, which takes PostgreSQL 4 µs a task instead of 7.
   */
  private static final String ALIKE =
      """
      /* Completions.alike */
      WITH done AS (
          UPDATE carillon.task_{slot} t
          SET state = 'COMPLETED',
              finished_at = clock_timestamp(),
              version = t.version + 1,
              claim = NULL,
              lease_until = NULL,
              status = NULL,
              output = NULL,
              request = NULL
          WHERE t.tenant = ?
            AND t.id = ANY (?)
            AND t.state = 'RUNNING'
            AND t.fence = ? -- the fence, as above
            AND t.claim = ?
      """
          + COMPLETED;

  /** Of one claim, and with nothing to say. */
  static List<Endings.Done> writeAlike(Tx tx, Slot slot, List<Endings.Ending> endings, String who) {
    Alike alike = requireNonNull(Alike.of(endings.getFirst()));
    return tx.query(
        Sql.forSlot(ALIKE, slot),
        row -> done(row, slot),
        alike.tenant(),
        Column.uuids(endings, e -> e.id().value()),
        alike.lease().fence(),
        alike.lease().claim(),
        who,
        who);
  }

  private static List<Endings.Done> writeEach(
      Tx tx, Slot slot, List<Endings.Ending> endings, String who) {
    if (endings.isEmpty()) {
      return List.of();
    }
    return tx.query(
        Sql.forSlot(EACH, slot),
        row -> done(row, slot),
        Column.ints(endings, e -> e.tenant().value()),
        Column.uuids(endings, e -> e.id().value()),
        Column.ints(endings, e -> e.lease().fence()),
        Column.uuids(endings, e -> e.lease().claim()),
        Column.shorts(endings, Endings.Ending::status),
        Column.texts(endings, Endings.Ending::output),
        Column.texts(endings, Endings.Ending::progress),
        Column.texts(endings, Endings.Ending::request),
        who,
        who);
  }

  private static Endings.Done done(ResultSet row, Slot slot) throws SQLException {
    return Endings.Done.completed(
        new TaskId(Sql.uuid(row, "id")),
        slot,
        row.getInt("lane"),
        row.getInt("attempt"),
        row.getBoolean("keyed"),
        row.getString("callback"));
  }
}
