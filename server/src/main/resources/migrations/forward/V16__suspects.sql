-- What a node says with every heartbeat of the tasks that it runs in small groups, because a node died while it ran them.

-- Fail and be started again rather than let every heartbeat wait behind this migration for a lock.
SET LOCAL lock_timeout = '2s';

ALTER TABLE carillon.node
    ADD COLUMN suspects_waiting int NOT NULL DEFAULT 0,
    ADD COLUMN suspects_running int NOT NULL DEFAULT 0;
