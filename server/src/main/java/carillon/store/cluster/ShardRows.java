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

/** The owner of each shard, as written by the leader. */
public final class ShardRows {

  private final Db db;

  /**
   * @param db for {@link #assign}, a handle that proves the term
   */
  public ShardRows(Db db) {
    this.db = db;
  }

  /**
   * The shards and the nodes that can own them.
   *
   * @param owners by shard; null without an owner
   * @param nodes that run tasks, are alive and not about to stop
   */
  public record Shared(Map<Integer, @Nullable String> owners, List<String> nodes) {}

  /** A shard that moves from one node to another; null means no owner. */
  public record Move(int shard, @Nullable String from, @Nullable String to) {}

  private static final String OWNERS =
      """
      /* ShardRows.owners */
      SELECT id, node
      FROM carillon.shard
      """;

  /** The owner of each shard; null without one. */
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
   * Writes the moves that {@code decide} asks for and returns them. Decides first without a
   * transaction, because most passes move nothing, and again inside the one that writes.
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
   * @param unassigned shards without an owner, or of a node that has left
   * @param lastMovedAt null if no shard has ever moved
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
