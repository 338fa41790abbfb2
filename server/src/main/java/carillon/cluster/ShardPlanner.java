package carillon.cluster;

import carillon.model.Pass;
import carillon.model.Signal;
import carillon.model.cluster.ShardPlan;
import carillon.model.cluster.Shards;
import carillon.model.cluster.Term;
import carillon.store.cluster.ShardRows;
import carillon.store.db.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Assigns the shards to the nodes that run tasks, while this node leads. */
public final class ShardPlanner {

  private static final Logger log = LoggerFactory.getLogger(ShardPlanner.class);
  private static final Duration INTERVAL = Duration.ofMillis(500);

  private final ShardRows rows;
  private final Supplier<Optional<Term>> term;
  private final LongAdder moves = new LongAdder();
  private final Signal shardsMoved;

  /**
   * @param rows on a handle that proves the term
   * @param shardsMoved raised when this node has moved shards
   */
  public ShardPlanner(ShardRows rows, Supplier<Optional<Term>> term, Signal shardsMoved) {
    this.rows = rows;
    this.term = term;
    this.shardsMoved = shardsMoved;
  }

  /** How many shards this node has moved. */
  public long moves() {
    return moves.sum();
  }

  /** One pass. */
  public Pass planOnce() {
    if (term.get().isEmpty()) {
      return Pass.skipped(INTERVAL);
    }
    try {
      moved(rows.assign(shared -> ShardPlan.assign(shared.owners(), shared.nodes(), Shards.COUNT)));
      return Pass.done(INTERVAL);
    } catch (StoreException e) {
      if (!e.isStaleTerm()) {
        throw e;
      }
      log.info("shards not assigned reason={}", e.getMessage());
      return Pass.skipped(INTERVAL);
    }
  }

  private void moved(List<ShardRows.Move> moved) {
    if (moved.isEmpty()) {
      return;
    }
    moves.add(moved.size());
    log.info(
        "moved shards count={} from={} to={}",
        moved.size(),
        names(moved, ShardRows.Move::from),
        names(moved, ShardRows.Move::to));
    shardsMoved.raise();
  }

  private static List<String> names(
      List<ShardRows.Move> moved, Function<ShardRows.Move, @Nullable String> end) {
    return moved.stream()
        .map(move -> Objects.requireNonNullElse(end.apply(move), "none"))
        .distinct()
        .sorted()
        .toList();
  }
}
