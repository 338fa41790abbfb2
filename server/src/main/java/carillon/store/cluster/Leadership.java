package carillon.store.cluster;

import carillon.model.cluster.Term;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** The row of the current leader, with its lease and a term that only rises. */
public final class Leadership {

  private final Db db;

  public Leadership(Db db) {
    this.db = db;
  }

  /**
   * The current leader.
   *
   * @param leaseUntil when that lapses, unless it is renewed
   */
  public record Led(Term term, Instant since, Instant leaseUntil) {}

  private static final String CURRENT =
      """
      /* Leadership.current */
      SELECT term, node, since, lease_until
      FROM carillon.leadership
      WHERE node IS NOT NULL
        AND lease_until > clock_timestamp()
      """;

  /** The current leader; empty while the lease has lapsed and no node has taken over. */
  public Optional<Led> current() {
    return db.autoCommit(Leadership::current);
  }

  static Optional<Led> current(Tx tx) {
    return tx.queryOne(
        CURRENT,
        row ->
            new Led(
                term(row),
                Sql.requiredInstant(row, "since"),
                Sql.requiredInstant(row, "lease_until")));
  }

  private static final String IS_VACANT =
      """
      /* Leadership.isVacant */
      SELECT FROM carillon.leadership
      WHERE lease_until <= clock_timestamp()
      """;

  private static final String AWAIT_WRITES =
      """
      /* Leadership.awaitWrites */
      SELECT pg_advisory_xact_lock(hashtext('carillon.leadership'))
      """;

  private static final String TAKE =
      """
      /* Leadership.take */
      UPDATE carillon.leadership
      SET term = term + 1,
          node = ?,
          since = clock_timestamp(),
          lease_until = clock_timestamp() + make_interval(secs => ?)
      WHERE lease_until <= clock_timestamp()
      RETURNING term, node
      """;

  /**
   * Begins a new term if there is no leader, also for the node that led last. Waits for the open
   * transactions of the previous leader, but only as long as for any lock: a later attempt first
   * checks again whether there is a leader.
   */
  public Optional<Term> take(String node, Duration lease) {
    return db.tryTransaction(tx -> take(tx, node, lease));
  }

  static Optional<Term> take(Tx tx, String node, Duration lease) {
    // Checked first, because a node that waits for the lock delays the leader's next write.
    if (tx.query(IS_VACANT, row -> true).isEmpty()) {
      return Optional.empty();
    }
    tx.query(AWAIT_WRITES, row -> true);
    return tx.queryOne(TAKE, Leadership::term, node, Sql.seconds(lease));
  }

  private static final String RENEW =
      """
      /* Leadership.renew */
      UPDATE carillon.leadership
      SET lease_until = clock_timestamp() + make_interval(secs => ?)
      WHERE term = ?
        AND node = ?
        AND lease_until > clock_timestamp() -- a lapsed lease stays lapsed: another node may be taking over
      """;

  /** False if the term is over; it stays so. */
  public boolean renew(Term term, Duration lease) {
    return db.autoCommit(tx -> renew(tx, term, lease));
  }

  static boolean renew(Tx tx, Term term, Duration lease) {
    return tx.update(RENEW, Sql.seconds(lease), term.number(), term.node()) == 1;
  }

  private static final String RESIGN =
      """
      /* Leadership.resign */
      UPDATE carillon.leadership
      SET node = NULL,
          lease_until = least(lease_until, clock_timestamp())
      WHERE term = ?
        AND node = ?
      """;

  /** Ends the term, so that other nodes need not wait for it to lapse. */
  public void resign(Term term) {
    db.inTransaction(tx -> tx.update(RESIGN, term.number(), term.node()));
  }

  private static Term term(ResultSet row) throws SQLException {
    return new Term(row.getLong("term"), row.getString("node"));
  }
}
