package carillon.store.cluster;

import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Which node looks after which shard, as the leader has written it. */
public final class ShardRows {

  private final Db db;

  /**
   * @param db for {@link #assign}, one that only the leader gets through
   */
  public ShardRows(Db db) {
    this.db = db;
  }

  /**
   * What there is to share out, and between whom.
   *
   * @param owners by shard; null where it is nobody's
   * @param nodes that run tasks, are alive and not about to stop
   */
  public record Shared(Map<Integer, @Nullable String> owners, List<String> nodes) {}

  /** A shard that goes from one node to another; null means nobody. */
  public record Move(int shard, @Nullable String from, @Nullable String to) {}

  private static final String OWNERS =
      """
      /* ShardRows.owners */
      SELECT id, node
      FROM carillon.shard
      """;

  /** Who looks after each; null where it is nobody. */
  public Map<Integer, @Nullable String> owners() {
    Map<Integer, @Nullable String> owners = new TreeMap<>();
    db.autoCommit(tx -> tx.query(OWNERS, row -> new Owned(row.getInt("id"), row.getString("node"))))
        .forEach(owned -> owners.put(owned.shard(), owned.node()));
    return owners;
  }

  private record Owned(int shard, @Nullable String node) {}

  private static final String SHARED =
      """
      /* ShardRows.shared */
      SELECT id AS shard, node
      FROM carillon.shard
      UNION ALL
      (SELECT NULL, id
       FROM carillon.node
       WHERE %s
       ORDER BY id)
      """
          .formatted(Nodes.RUNS_TASKS);

  private static final String ASSIGN =
      """
      /* ShardRows.assign */
      UPDATE carillon.shard s
      SET node = m.node,
          term = (SELECT term FROM carillon.leadership),
          moved_at = clock_timestamp()
      FROM unnest(?::int[], ?::text[]) AS m (id, node)
      WHERE s.id = m.id
      """;

  /**
   * Has it decided how shards are to be shared out, and writes what changes by that, in one
   * transaction. Returns the moves; without any, nothing is written. It is decided again for what
   * is written: most looks are the only one.
   */
  public List<Move> assign(Function<Shared, Map<Integer, String>> decide) {
    if (moves(db.autoCommit(ShardRows::shared), decide).isEmpty()) {
      return List.of();
    }
    return db.inTransaction(
        tx -> {
          List<Move> moves = moves(shared(tx), decide);
          if (!moves.isEmpty()) {
            tx.update(ASSIGN, Column.ints(moves, Move::shard), Column.texts(moves, Move::to));
          }
          return moves;
        });
  }

  private static Shared shared(Tx tx) {
    Map<Integer, @Nullable String> owners = new TreeMap<>();
    List<String> takers = new ArrayList<>();
    tx.query(
        SHARED,
        row -> {
          Integer shard = Sql.integer(row, "shard");
          String node = row.getString("node");
          if (shard == null) {
            takers.add(node);
          } else {
            owners.put(shard, node);
          }
          return true;
        });
    return new Shared(owners, takers);
  }

  private static List<Move> moves(Shared shared, Function<Shared, Map<Integer, String>> decide) {
    Map<Integer, String> after = decide.apply(shared);
    return shared.owners().entrySet().stream()
        .map(e -> new Move(e.getKey(), e.getValue(), after.get(e.getKey())))
        .filter(move -> !Objects.equals(move.from(), move.to()))
        .toList();
  }

  /**
   * How the shards are spread.
   *
   * @param unassigned those of nobody, or of a node that is gone
   * @param lastMovedAt null if none ever was
   */
  public record Spread(int total, int unassigned, @Nullable Instant lastMovedAt) {}

  private static final String SPREAD =
      """
      /* ShardRows.spread */
      SELECT count(*) AS total, count(*) - count(n.id) AS unassigned, max(s.moved_at) AS last_moved_at
      FROM carillon.shard s
      LEFT JOIN carillon.node n ON n.id = s.node AND n.lease_until > clock_timestamp()
      """;

  public Spread spread() {
    return db.inTransaction(ShardRows::spread);
  }

  static Spread spread(Tx tx) {
    return tx.query(
            SPREAD,
            row ->
                new Spread(
                    row.getInt("total"),
                    row.getInt("unassigned"),
                    Sql.instant(row, "last_moved_at")))
        .getFirst();
  }
}
