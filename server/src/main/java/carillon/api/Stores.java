package carillon.api;

import carillon.store.ActivityReader;
import carillon.store.ApiKeys;
import carillon.store.Audit;
import carillon.store.Backfills;
import carillon.store.ClusterReader;
import carillon.store.Db;
import carillon.store.DeadLetters;
import carillon.store.Events;
import carillon.store.PullQueue;
import carillon.store.Redrives;
import carillon.store.Replies;
import carillon.store.Restores;
import carillon.store.Schedules;
import carillon.store.StatsReader;
import carillon.store.StorageReader;
import carillon.store.Tasks;
import carillon.store.Tenants;
import carillon.store.Types;

/** What the API reads and writes; every part but the cluster's takes the tenant first. */
public record Stores(
    Db db,
    Tasks tasks,
    DeadLetters deadLetters,
    Types types,
    Tenants tenants,
    ApiKeys keys,
    Replies replies,
    PullQueue pullQueue,
    Redrives redrives,
    Audit audit,
    Restores restores,
    Schedules schedules,
    Backfills backfills,
    ClusterReader cluster,
    StorageReader storage,
    StatsReader stats,
    ActivityReader activity,
    Events events) {}
