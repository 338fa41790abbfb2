package carillon.store;

import carillon.store.catalog.Partitions;
import carillon.store.catalog.Replies;
import carillon.store.cluster.Nodes;
import carillon.store.db.DbClock;
import carillon.store.deadletters.DeadLetterArchive;
import carillon.store.deadletters.DeadLetters;
import carillon.store.deadletters.Redrives;
import carillon.store.queue.Expiry;
import carillon.store.queue.HeldClaims;
import carillon.store.schedules.BackfillSteps;
import carillon.store.schedules.Backfills;
import carillon.store.schedules.DueSchedules;
import carillon.store.schedules.FireRetention;
import carillon.store.stats.Activity;
import carillon.store.stats.Events;
import carillon.store.stats.WaitingCounts;
import carillon.store.tasks.UniqueTasks;

/** What the leader reads and writes for the cluster, on a handle that proves its term. */
public interface LeaderStore {
  DbClock clock();

  Partitions partitions();

  HeldClaims claims();

  Expiry expiry();

  Nodes nodes();

  UniqueTasks uniqueTasks();

  Replies replies();

  DeadLetters deadLetters();

  DeadLetterArchive archive();

  Redrives redrives();

  DueSchedules dueSchedules();

  FireRetention fireRetention();

  Backfills backfills();

  BackfillSteps backfillSteps();

  Activity activity();

  WaitingCounts waiting();

  Events events();
}
