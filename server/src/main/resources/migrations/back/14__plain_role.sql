-- Takes back V14: users' transactions are recognised by a parameter again.

-- Fail and be started again rather than let every claim wait behind this migration for a lock.
SET LOCAL lock_timeout = '2s';

CREATE OR REPLACE FUNCTION carillon.catalog_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changes bigint;
BEGIN
    IF current_setting('carillon.beside', true) = 'on' THEN
        INSERT INTO carillon.catalog_change DEFAULT VALUES;
        RETURN NULL;
    END IF;
    UPDATE carillon.catalog SET version = version + 1;
    DELETE FROM carillon.catalog_change;
    GET DIAGNOSTICS changes = ROW_COUNT;
    IF changes > 0 THEN
        UPDATE carillon.catalog SET version = version + changes;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION carillon.make_lane(of_tenant int, of_type text, of_priority int) RETURNS int LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    made int := coalesce(nullif(current_setting('carillon.made', true), ''), '0')::int;
    lane int;
BEGIN
    -- Not as a SET of the function: only a superuser may attach a parameter that PostgreSQL does not know.
    PERFORM set_config('carillon.beside', 'on', true);
    IF made >= 1000 THEN -- each keeps a place in the lock table of the whole server
        RAISE EXCEPTION USING ERRCODE = '54000',
            MESSAGE = 'one transaction may use 1000 new types and priorities',
            HINT = 'Commit in between.';
    END IF;
    PERFORM set_config('carillon.made', (made + 1)::text, true);
    IF NOT EXISTS (SELECT FROM carillon.task_type t WHERE t.tenant = of_tenant AND t.name = of_type) THEN
        PERFORM pg_advisory_xact_lock(carillon.making(of_tenant, of_type));
        INSERT INTO carillon.task_type (tenant, name)
        VALUES (of_tenant, of_type)
        ON CONFLICT DO NOTHING;
    END IF;
    FOR tries IN 1..2 LOOP
        SELECT l.id
        INTO lane
        FROM carillon.lane l
        WHERE l.tenant = of_tenant
          AND l.type = of_type
          AND l.priority = of_priority
          AND l.route = 'TYPE'
        ORDER BY l.slice
        LIMIT 1;
        EXIT WHEN lane IS NOT NULL;
        PERFORM pg_advisory_xact_lock(carillon.making(of_tenant, of_type, of_priority, 0, 'TYPE'));
        INSERT INTO carillon.lane (tenant, type, priority, slice, route)
        VALUES (of_tenant, of_type, of_priority, 0, 'TYPE')
        ON CONFLICT DO NOTHING; -- somebody else's is seen by the second try
    END LOOP;
    PERFORM set_config('carillon.beside', '', true);
    RETURN lane;
END
$$;

-- Drops the index too.
ALTER TABLE carillon.catalog_change DROP COLUMN xact_id;
