-- Takes back V8: nobody leads, every node looks after every lane.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

DROP FUNCTION carillon.leads(bigint, text);
DROP TABLE carillon.shard, carillon.leadership;
ALTER TABLE carillon.node
    DROP COLUMN address,
    DROP COLUMN draining,
    DROP COLUMN renewed_at,
    DROP COLUMN clock_offset_us,
    DROP COLUMN in_flight,
    DROP COLUMN seats,
    DROP COLUMN lag_ms,
    DROP COLUMN claimed,
    DROP COLUMN ended;
