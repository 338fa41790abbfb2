-- Slots made from now on have room for a whole life on their pages; those that exist stay as they are.

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
    -- Room on the page for the claim's version of a row with a small payload and the finish's: while anybody holds an
    -- old snapshot neither can have the place of what came before it, and on another page it would need entries in the
    -- indexes. Vacuumed by count, not by share.
    EXECUTE format('ALTER TABLE carillon.%I SET (fillfactor = 33, autovacuum_vacuum_scale_factor = 0.02,'
                   ' autovacuum_vacuum_threshold = 20000, autovacuum_analyze_scale_factor = 0.05)',
                   'task_' || suffix);
    EXECUTE format('ALTER INDEX carillon.%I SET (fillfactor = 50)', 'task_' || suffix || '_pkey');
    INSERT INTO carillon.slot (day, opens_at) VALUES (new_day, new_day::timestamp AT TIME ZONE 'UTC');
END
$$;
