-- Reads all attempts and transitions once. Tasks that fail meanwhile wait; claims and completions go on.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

-- A page of the story of a task is quick however long the story is; fences rise with time.
DROP INDEX carillon.attempt_task;
DROP INDEX carillon.transition_task;
CREATE INDEX attempt_task ON carillon.attempt (tenant, task, fence);
CREATE INDEX transition_task ON carillon.transition (tenant, task, fence, at);
