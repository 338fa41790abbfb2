-- A change of the catalog by a user's transaction is recognised by its own rows in catalog_change, no longer by a
-- parameter of the session: a parameter needs a superuser where it belongs to a function, and the caller can set it.

-- Fail and be started again rather than let every claim wait behind this migration for a lock.
SET LOCAL lock_timeout = '2s';

-- The transaction that added the row; 0 for rows of before. Numbers begin again where a dump is restored, so a row
-- is of the transaction that runs only if it is not older either.
ALTER TABLE carillon.catalog_change ADD COLUMN xact_id xid8 NOT NULL DEFAULT '0';
ALTER TABLE carillon.catalog_change ALTER COLUMN xact_id SET DEFAULT pg_current_xact_id();
CREATE INDEX catalog_change_xact_id_idx ON carillon.catalog_change (xact_id);

CREATE OR REPLACE FUNCTION carillon.catalog_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changes bigint;
BEGIN
    -- make_lane has added a row for this transaction, which raises the version when it commits.
    IF EXISTS (SELECT
               FROM carillon.catalog_change c
               WHERE c.xact_id = pg_current_xact_id()
                 AND c.made_at >= transaction_timestamp()) THEN
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

-- Creates the first lane of a type and priority, and the type, in the caller's transaction.
CREATE OR REPLACE FUNCTION carillon.make_lane(of_tenant int, of_type text, of_priority int) RETURNS int LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    lane int;
BEGIN
    -- Each call takes up to two advisory locks, in the lock table of the whole server, until the caller commits.
    IF (SELECT count(*)
        FROM carillon.catalog_change c
        WHERE c.xact_id = pg_current_xact_id()
          AND c.made_at >= transaction_timestamp()) >= 1000 THEN
        RAISE EXCEPTION USING ERRCODE = '54000',
            MESSAGE = 'one transaction may use 1000 new types and priorities',
            HINT = 'Commit in between.';
    END IF;
    INSERT INTO carillon.catalog_change DEFAULT VALUES; -- before the catalog changes: see catalog_changed
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
        ON CONFLICT DO NOTHING; -- the second try finds the lane of another transaction
    END LOOP;
    RETURN lane;
END
$$;
