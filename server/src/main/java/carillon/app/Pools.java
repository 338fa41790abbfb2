package carillon.app;

import carillon.store.Db;
import carillon.store.Timeline;

/** Opens the pools of a node, all to one database whose history they watch together. */
record Pools(Db.Address address, Timeline timeline, Metrics metrics, Shutdown shutdown) {

  Db open(Db.Pool size) {
    Db db = Db.open(address, size, timeline);
    shutdown.add(db);
    metrics.pool(size.name(), db);
    return db;
  }
}
