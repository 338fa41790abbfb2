package carillon.store;

import carillon.model.TaskId;
import java.time.Duration;
import java.util.List;

/** The programs that take part, each with a lease of its own. */
public final class Nodes {

  private final Db db;

  public Nodes(Db db) {
    this.db = db;
  }

  private static final String JOIN =
      """
      /* Nodes.join */
      INSERT INTO carillon.node (id, label, roles, version, lease_until)
      VALUES (?, ?, ?, ?, clock_timestamp() + make_interval(secs => ?))
      """;

  public void join(String id, String label, List<String> roles, String version, Duration lease) {
    db.inTransaction(
        tx ->
            tx.update(
                JOIN,
                id,
                label,
                Column.texts(roles, role -> role),
                version,
                lease.toMillis() / 1000.0));
  }

  private static final String RENEW =
      """
      /* Nodes.renew */
      UPDATE carillon.node
      SET lease_until = clock_timestamp() + make_interval(secs => ?)
      WHERE id = ?
        AND lease_until > clock_timestamp() -- lapsed is lapsed: its tasks may already be given back
      """;

  /** False if the lease had lapsed; it stays so. */
  public boolean renew(String id, Duration lease) {
    return db.inTransaction(tx -> tx.update(RENEW, lease.toMillis() / 1000.0, id)) == 1;
  }

  private static final String LEAVE =
      """
      /* Nodes.leave */
      UPDATE carillon.node
      SET lease_until = least(lease_until, clock_timestamp()),
          ending = coalesce(ending, ?)
      WHERE id = ?
      """;

  /** Gives the lease up; whatever the node still holds can be taken back at once. */
  public void leave(String id) {
    db.inTransaction(tx -> tx.update(LEAVE, "LEFT", id));
  }

  /** Says of a lease that lapsed that its node lives: it was cut off, and nothing died of it. */
  public void survive(String id) {
    db.inTransaction(tx -> tx.update(LEAVE, "CUT_OFF", id));
  }

  private static final String MARK =
      """
      /* Nodes.mark */
      UPDATE carillon.node
      SET suspects = ?
      WHERE id = ?
        AND lease_until > clock_timestamp() -- later the reaper may have read them
      """;

  /**
   * Writes down which suspects run on a node, in place of what was written before. False if its
   * lease has lapsed.
   */
  public boolean mark(String id, List<TaskId> suspects) {
    return db.inTransaction(tx -> tx.update(MARK, Column.uuids(suspects, TaskId::value), id)) == 1;
  }

  private static final String FORGET =
      """
      /* Nodes.forgetLapsed */
      DELETE FROM carillon.node n
      WHERE n.lease_until < clock_timestamp() - make_interval(secs => ?)
        AND NOT EXISTS (SELECT FROM carillon.claim c WHERE c.node = n.id)
      """;

  /** Removes nodes that lapsed that long ago and hold nothing. */
  public int forgetLapsed(Duration after) {
    return db.inTransaction(tx -> tx.update(FORGET, after.toMillis() / 1000.0));
  }
}
