package carillon.store;

import carillon.store.catalog.Catalog;
import carillon.store.cluster.Nodes;
import carillon.store.db.DbClock;
import carillon.store.queue.Agenda;
import carillon.store.queue.HeldClaims;
import carillon.store.queue.Outcomes;
import carillon.store.queue.QueueSweep;
import carillon.store.queue.WorkQueue;

/** What the engine reads and writes, across all tenants. */
public interface EngineStore {
  Catalog catalog();

  DbClock clock();

  Agenda agenda();

  QueueSweep sweep();

  WorkQueue queue();

  Outcomes outcomes();

  HeldClaims claims();

  Nodes nodes();
}
