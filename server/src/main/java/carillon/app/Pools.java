package carillon.app;

import carillon.store.Db;
import carillon.store.Timeline;
import carillon.store.Transitions;

/**
 * Opens the pools of a node, all to one database whose history they watch together.
 *
 * @param transitions told what is committed through any of them
 */
record Pools(
    Db.Address address,
    Timeline timeline,
    Transitions transitions,
    Metrics metrics,
    Shutdown shutdown) {

  Db open(Db.Pool size) {
    Db db = Db.open(address, size, timeline, transitions);
    shutdown.add(db);
    metrics.pool(size.name(), db);
    return db;
  }
}
