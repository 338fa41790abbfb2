package carillon.store;

import carillon.model.Lane;
import carillon.model.Slot;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** How long the line of due tasks is, and what else needs a look, for showing. */
public final class Backlog {

  private final Db db;
  private final Catalog catalog;
  private final Slots slots;

  public Backlog(Db db, Catalog catalog, Slots slots) {
    this.db = db;
    this.catalog = catalog;
    this.slots = slots;
  }

  private static final String COUNT_DUE =
      """
      /* Backlog.look */
      SELECT count(*) AS due, min(ready_at) AS oldest
      FROM (
          SELECT t.ready_at
          FROM unnest(?::int[]) AS l (lane)
          CROSS JOIN LATERAL (
              SELECT ready_at
              FROM carillon.task_{slot}
              WHERE lane = l.lane
                AND ready_at <= (SELECT clock_timestamp())
              ORDER BY ready_at
              LIMIT ?
          ) t
          LIMIT ?
      ) t
      """;

  /**
   * What is due and waits.
   *
   * @param due counted up to a limit, so that a long line costs no more to look at than a short one
   */
  public record Length(long due, @Nullable Instant oldest) {}

  /** Looks at all lanes in all open slots. */
  public Length look(Instant now, int limit) {
    Column all = Column.ints(catalog.lanes(), Lane::id);
    long due = 0;
    Instant oldest = null;
    for (Slot slot : slots.open(now)) {
      Length here =
          db.inTransaction(
              tx ->
                  tx.query(
                          Sql.forSlot(COUNT_DUE, slot),
                          row -> new Length(row.getLong("due"), Sql.instant(row, "oldest")),
                          all,
                          limit,
                          limit)
                      .getFirst());
      due += here.due();
      Instant at = here.oldest();
      oldest = at != null && (oldest == null || at.isBefore(oldest)) ? at : oldest;
    }
    return new Length(Math.min(due, limit), oldest);
  }

  private static final String COUNT_GROUPS =
      """
      /* Backlog.deadLetterGroups */
      SELECT count(*) AS groups
      FROM (
          SELECT
          FROM carillon.dead_letter_group
          WHERE letters > 0
          LIMIT ?
      ) g
      """;

  /** How many kinds of dead letters there are, counted up to a limit. */
  public long deadLetterGroups(int limit) {
    return db.inTransaction(
        tx -> tx.query(COUNT_GROUPS, row -> row.getLong("groups"), limit).getFirst());
  }
}
