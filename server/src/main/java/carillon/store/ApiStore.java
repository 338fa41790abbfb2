package carillon.store;

import carillon.store.catalog.ApiKeys;
import carillon.store.catalog.Audit;
import carillon.store.catalog.Replies;
import carillon.store.catalog.Tenants;
import carillon.store.catalog.Types;
import carillon.store.cluster.ClusterReader;
import carillon.store.db.Db;
import carillon.store.deadletters.DeadLetters;
import carillon.store.deadletters.Redrives;
import carillon.store.deadletters.Restores;
import carillon.store.queue.PullQueue;
import carillon.store.schedules.Backfills;
import carillon.store.schedules.Schedules;
import carillon.store.stats.ActivityReader;
import carillon.store.stats.Events;
import carillon.store.stats.StatsReader;
import carillon.store.stats.StorageReader;
import carillon.store.tasks.Tasks;

/** What the API reads and writes. Every part but the cluster takes the tenant first. */
public interface ApiStore {
  Db db();

  Tasks tasks();

  PullQueue pullQueue();

  DeadLetters deadLetters();

  Redrives redrives();

  Restores restores();

  Schedules schedules();

  Backfills backfills();

  Types types();

  Tenants tenants();

  ApiKeys keys();

  Replies replies();

  Audit audit();

  ClusterReader cluster();

  ActivityReader activityReader();

  StatsReader stats();

  StorageReader storage();

  Events events();
}
