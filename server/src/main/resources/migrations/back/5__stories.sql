-- Takes back V5.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

DROP INDEX carillon.attempt_task;
DROP INDEX carillon.transition_task;
CREATE INDEX attempt_task ON carillon.attempt (tenant, task);
CREATE INDEX transition_task ON carillon.transition (tenant, task);
