-- Takes back V2. The version before reads the table only, so what stands on the rows is written there first.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';
INSERT INTO carillon.transition (tenant, task, slot, at, from_state, to_state, fence, who, reason)
SELECT tenant, task, slot, at, from_state, to_state, fence, who, reason
FROM carillon.every_transition e
WHERE NOT EXISTS (
    SELECT FROM carillon.transition w
    WHERE w.tenant = e.tenant
      AND w.task = e.task
      AND w.slot = e.slot
      AND w.fence = e.fence
      AND w.to_state = e.to_state);

DROP VIEW carillon.every_transition;

ALTER TABLE carillon.claim
    ALTER COLUMN tenants SET STORAGE EXTENDED,
    ALTER COLUMN tasks SET STORAGE EXTENDED;

CREATE OR REPLACE FUNCTION carillon.make_slot(new_day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    part   text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('carillon.make_slot'));
    IF EXISTS (SELECT FROM carillon.slot WHERE day = new_day) THEN
        RETURN;
    END IF;
    FOREACH parent IN ARRAY ARRAY['task', 'attempt', 'transition'] LOOP
        part := parent || '_' || to_char(new_day, 'YYYYMMDD');
        -- Made apart and then attached: CREATE ... PARTITION OF would lock the parent against every reader.
        EXECUTE format('CREATE TABLE carillon.%I (LIKE carillon.%I INCLUDING ALL)', part, parent);
        EXECUTE format('ALTER TABLE carillon.%I ATTACH PARTITION carillon.%I FOR VALUES FROM (%L) TO (%L)',
                       parent, part, new_day, new_day + 1);
    END LOOP;
    -- Room on the page for the claim's and the finish's versions; vacuumed by count, not by share.
    EXECUTE format('ALTER TABLE carillon.%I SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02,'
                   ' autovacuum_vacuum_threshold = 20000, autovacuum_analyze_scale_factor = 0.05)',
                   'task_' || to_char(new_day, 'YYYYMMDD'));
    INSERT INTO carillon.slot (day, opens_at) VALUES (new_day, new_day::timestamp AT TIME ZONE 'UTC');
END
$$;
