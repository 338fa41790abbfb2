package carillon.app;

import carillon.store.db.Db;
import carillon.store.db.Timeline;
import carillon.store.db.Transitions;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Opens the pools of a node, all to one database whose history they watch together.
 *
 * @param transitions told what is committed through any of them
 * @param sizes connections that the node may have, by what they are for
 */
record Pools(
    Db.Address address,
    Timeline timeline,
    Transitions transitions,
    Metrics metrics,
    Shutdown shutdown,
    Map<String, Integer> sizes) {

  static Pools of(Db.Address address, Metrics metrics, Shutdown shutdown) {
    return new Pools(
        address, new Timeline(), new Transitions(), metrics, shutdown, new LinkedHashMap<>());
  }

  Db open(Db.Pool size) {
    count(size.name(), size.connections());
    Db db = Db.open(address, size, timeline, transitions);
    shutdown.add(db);
    metrics.pool(size.name(), db);
    return db;
  }

  /** Adds connections that belong to no pool. */
  void count(String name, int connections) {
    sizes.merge(name, connections, Integer::sum);
  }

  /** How many connections the node may have, in all and by what they are for. */
  String summary() {
    int total = sizes.values().stream().mapToInt(Integer::intValue).sum();
    return sizes.entrySet().stream()
        .map(size -> " " + size.getKey() + "=" + size.getValue())
        .collect(Collectors.joining("", "max=" + total, ""));
  }
}
