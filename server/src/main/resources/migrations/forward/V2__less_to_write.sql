-- The claim of a task and its completion stand on the task's own row and are no longer written a second time as
-- transitions. This says them all, wherever they stand.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

CREATE VIEW carillon.every_transition AS
SELECT tenant, task, slot, at, from_state, to_state, fence, who, reason
FROM carillon.transition
UNION ALL
SELECT t.tenant, t.id, t.slot, t.started_at, 'PENDING', 'RUNNING', t.fence, t.leased_by, NULL
FROM carillon.task t
WHERE t.state IN ('RUNNING', 'COMPLETED')
  AND NOT EXISTS ( -- as written by a node of the version before
      SELECT FROM carillon.transition w
      WHERE w.tenant = t.tenant
        AND w.task = t.id
        AND w.slot = t.slot
        AND w.fence = t.fence
        AND w.to_state = 'RUNNING')
UNION ALL
SELECT t.tenant, t.id, t.slot, t.finished_at, 'RUNNING', 'COMPLETED', t.fence, t.leased_by, NULL
FROM carillon.task t
WHERE t.state = 'COMPLETED'
  AND NOT EXISTS ( -- by somebody else than the one who held it
      SELECT FROM carillon.transition w
      WHERE w.tenant = t.tenant
        AND w.task = t.id
        AND w.slot = t.slot
        AND w.fence = t.fence
        AND w.to_state = 'COMPLETED');

-- Ids of a batch hardly shrink, and trying costs every claim.
ALTER TABLE carillon.claim
    ALTER COLUMN tenants SET STORAGE EXTERNAL,
    ALTER COLUMN tasks SET STORAGE EXTERNAL;

-- As before, and with room in the primary key: every task is claimed, and that adds a second entry beside the first.
CREATE OR REPLACE FUNCTION carillon.make_slot(new_day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    suffix text := to_char(new_day, 'YYYYMMDD');
    parent text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('carillon.make_slot'));
    IF EXISTS (SELECT FROM carillon.slot WHERE day = new_day) THEN
        RETURN;
    END IF;
    FOREACH parent IN ARRAY ARRAY['task', 'attempt', 'transition'] LOOP
        -- Made apart and then attached: CREATE ... PARTITION OF would lock the parent against every reader.
        EXECUTE format('CREATE TABLE carillon.%I (LIKE carillon.%I INCLUDING ALL)', parent || '_' || suffix, parent);
        EXECUTE format('ALTER TABLE carillon.%I ATTACH PARTITION carillon.%I FOR VALUES FROM (%L) TO (%L)',
                       parent, parent || '_' || suffix, new_day, new_day + 1);
    END LOOP;
    -- Room on the page for the claim's and the finish's versions; vacuumed by count, not by share.
    EXECUTE format('ALTER TABLE carillon.%I SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02,'
                   ' autovacuum_vacuum_threshold = 20000, autovacuum_analyze_scale_factor = 0.05)',
                   'task_' || suffix);
    EXECUTE format('ALTER INDEX carillon.%I SET (fillfactor = 50)', 'task_' || suffix || '_pkey');
    INSERT INTO carillon.slot (day, opens_at) VALUES (new_day, new_day::timestamp AT TIME ZONE 'UTC');
END
$$;
