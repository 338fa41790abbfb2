package carillon.store;

import carillon.model.Lease;
import carillon.model.Slot;
import carillon.model.TaskId;
import carillon.model.TenantId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The way nearly every task ends, so it does nothing else. The claim and this end are not written
 * as transitions: the row says them, and the view every_transition reads them there. Unless
 * somebody else than the holder ended it.
 */
final class Completions {

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

  /**
   * The same for those that have nothing to say for themselves: the tasks of one claim and tenant
   * are found by one walk along the key and not by one look-up each, which is worth a third of it.
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
          FROM unnest(?::int[], ?::int[], ?::uuid[], ?::int[], ?::int[])
               AS f (tenant, fence, claim, first, last)
          WHERE t.tenant = f.tenant
            AND t.id = ANY ((?::uuid[])[f.first:f.last])
            AND t.state = 'RUNNING'
            AND t.fence = f.fence -- the fence: who lost its lease can no longer write
            AND t.claim = f.claim
      """
          + COMPLETED;

  private Completions() {}

  /** What those have in common that one walk along the key can find. */
  private record Alike(TenantId tenant, Lease lease) {

    /** The order in which they are locked; within each it is that of the key. */
    static final Comparator<Alike> LOCKED =
        Comparator.comparingInt((Alike alike) -> alike.tenant().value())
            .thenComparing(alike -> alike.lease().claim())
            .thenComparingInt(alike -> alike.lease().fence());
  }

  /**
   * Some that are alike, side by side among all of them.
   *
   * @param first the place of the first of them, counted from 1 as PostgreSQL does
   */
  private record Stretch(Alike alike, int first, int last) {}

  /** Writes those that are still held as they say, and returns them. */
  static List<Endings.Done> write(Tx tx, Slot slot, List<Endings.Ending> endings, String who) {
    List<Endings.Ending> silent = new ArrayList<>(endings.size());
    List<Endings.Ending> others = new ArrayList<>();
    for (Endings.Ending ending : endings) {
      (saysNothing(ending) ? silent : others).add(ending);
    }
    List<Endings.Done> done = new ArrayList<>(endings.size());
    done.addAll(writeAlike(tx, slot, silent, who));
    done.addAll(writeEach(tx, slot, others, who));
    return done;
  }

  private static boolean saysNothing(Endings.Ending ending) {
    return ending.status() == null
        && ending.output() == null
        && ending.progress() == null
        && ending.request() == null;
  }

  private static List<Endings.Done> writeAlike(
      Tx tx, Slot slot, List<Endings.Ending> endings, String who) {
    if (endings.isEmpty()) {
      return List.of();
    }
    Map<Alike, List<Endings.Ending>> groups = new TreeMap<>(Alike.LOCKED);
    for (Endings.Ending ending : endings) {
      Alike alike = new Alike(ending.tenant(), ending.lease());
      groups.computeIfAbsent(alike, _ -> new ArrayList<>()).add(ending);
    }
    List<Endings.Ending> all = new ArrayList<>(endings.size());
    List<Stretch> stretches = new ArrayList<>(groups.size());
    groups.forEach(
        (alike, some) -> {
          stretches.add(new Stretch(alike, all.size() + 1, all.size() + some.size()));
          all.addAll(some);
        });
    return tx.query(
        Sql.forSlot(ALIKE, slot),
        row -> done(row, slot),
        Column.ints(stretches, each -> each.alike().tenant().value()),
        Column.ints(stretches, each -> each.alike().lease().fence()),
        Column.uuids(stretches, each -> each.alike().lease().claim()),
        Column.ints(stretches, Stretch::first),
        Column.ints(stretches, Stretch::last),
        Column.uuids(all, e -> e.id().value()),
        who,
        who);
  }

  private static List<Endings.Done> writeEach(
      Tx tx, Slot slot, List<Endings.Ending> endings, String who) {
    if (endings.isEmpty()) {
      return List.of();
    }
    endings.sort(Endings.BY_ID);
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
