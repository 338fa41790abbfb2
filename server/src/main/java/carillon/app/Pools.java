package carillon.app;

import carillon.model.Signal;
import carillon.store.db.Db;
import carillon.store.db.Pooler;
import carillon.store.db.Timeline;
import carillon.store.db.Transitions;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** The connection pools of a node, all to one database. They share its timeline and listeners. */
final class Pools {

  private final Db.Address address;
  private final Timeline timeline;
  private final Transitions transitions = new Transitions();
  private final Metrics metrics;
  private final Lifecycle lifecycle;
  private final Map<String, Integer> sizes = new LinkedHashMap<>();

  Pools(Db.Address address, Signal databaseReplaced, Metrics metrics, Lifecycle lifecycle) {
    this.address = address;
    this.timeline = new Timeline(databaseReplaced);
    this.metrics = metrics;
    this.lifecycle = lifecycle;
  }

  Db open(String name, int connections) {
    return open(new Db.Pool(name, connections));
  }

  /**
   * @param statementTimeout after which a statement is given up
   */
  Db open(String name, int connections, Duration statementTimeout) {
    return open(new Db.Pool(name, connections, statementTimeout));
  }

  private Db open(Db.Pool pool) {
    count(pool.name(), pool.connections());
    Db db = lifecycle.add("pool-" + pool.name(), Db.open(address, pool, timeline, transitions));
    metrics.pool(pool.name(), db);
    return db;
  }

  /** Counts connections that belong to no pool. */
  void count(String name, int connections) {
    sizes.merge(name, connections, Integer::sum);
  }

  Db.Address address() {
    return address;
  }

  /** Whether a pooler is between this node and the server. */
  boolean isPooled() {
    return address.pooler() != Pooler.NONE;
  }

  Timeline timeline() {
    return timeline;
  }

  /** Notified of the commits of all pools. */
  Transitions transitions() {
    return transitions;
  }

  /** The connections that the node may have, in total and by pool. */
  String summary() {
    int total = sizes.values().stream().mapToInt(Integer::intValue).sum();
    return sizes.entrySet().stream()
        .map(size -> " " + size.getKey() + "=" + size.getValue())
        .collect(Collectors.joining("", "max=" + total, ""));
  }
}
