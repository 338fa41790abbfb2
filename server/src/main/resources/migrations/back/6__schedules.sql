-- Takes back V6: schedules are gone, the tasks that they made stay.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

DROP TABLE carillon.backfill, carillon.schedule_fire, carillon.schedule;
ALTER TABLE carillon.task DROP COLUMN fire_at;
