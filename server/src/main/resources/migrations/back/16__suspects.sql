-- Takes back V16.

-- Fail and be started again rather than let every heartbeat wait behind this migration for a lock.
SET LOCAL lock_timeout = '2s';

ALTER TABLE carillon.node
    DROP COLUMN suspects_waiting,
    DROP COLUMN suspects_running;
