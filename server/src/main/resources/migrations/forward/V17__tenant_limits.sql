-- How many types, lanes, schedules and keys a tenant may have. Nodes keep types and lanes of all tenants in memory.

-- Fail and be started again rather than let every claim wait behind this migration for a lock.
SET LOCAL lock_timeout = '2s';

-- Of every tenant that has no limits of its own. Each node writes its settings here when it starts.
CREATE TABLE carillon.tenant_limits (
    only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    types     int NOT NULL DEFAULT 1000,
    lanes     int NOT NULL DEFAULT 10000,
    schedules int NOT NULL DEFAULT 10000,
    keys      int NOT NULL DEFAULT 1000
);

INSERT INTO carillon.tenant_limits DEFAULT VALUES;

-- NULL means the installation's.
ALTER TABLE carillon.tenant
    ADD COLUMN max_types     int,
    ADD COLUMN max_lanes     int,
    ADD COLUMN max_schedules int,
    ADD COLUMN max_keys      int;

-- As before, but for the upper half, which names the tenant: pg_locks then says what of a tenant is being created by
-- transactions that have not ended. In the lower half, lanes have the highest bit.
CREATE OR REPLACE FUNCTION carillon.making(tenant int, type text, priority int DEFAULT NULL, slice int DEFAULT NULL,
                                           route text DEFAULT NULL)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT ((1667329280::bigint + tenant) << 32)
           | (hashtextextended(concat_ws('/', 'carillon', tenant, type, priority, slice, route), 0) & 2147483647)
           | CASE WHEN priority IS NULL THEN 0 ELSE 2147483648 END
$$;

-- What a tenant has of one kind, and may have. Types and lanes that other transactions are creating count as if they
-- were committed, so that two transactions which do not wait for each other never create one too many: each has
-- taken the lock of what it creates before it counts. Nodes do wait for each other, by the catalog's row, and have shared
-- locks: a node counts only what users are creating.
CREATE FUNCTION carillon.tenant_usage(of_tenant int, kind text, by_node boolean, OUT used int, OUT most int)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- First, in a statement of its own: a transaction that ends after this one is seen here, others by their rows.
    making bigint[] := CASE WHEN kind IN ('types', 'lanes') THEN ARRAY(
        SELECT DISTINCT (l.classid::bigint << 32) | l.objid::bigint
        FROM pg_locks l
        WHERE l.locktype = 'advisory'
          AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
          AND l.classid::bigint = 1667329280 + of_tenant
          AND l.objsubid = 1
          AND l.granted
          AND (l.mode = 'ExclusiveLock' OR NOT by_node)
          AND (l.objid::bigint >= 2147483648) = (kind = 'lanes')) END;
BEGIN
    SELECT CASE kind WHEN 'types' THEN coalesce(t.max_types, l.types)
                     WHEN 'lanes' THEN coalesce(t.max_lanes, l.lanes)
                     WHEN 'schedules' THEN coalesce(t.max_schedules, l.schedules)
                     WHEN 'keys' THEN coalesce(t.max_keys, l.keys) END
    INTO most
    FROM carillon.tenant t
    CROSS JOIN carillon.tenant_limits l
    WHERE t.id = of_tenant;
    CASE kind
        WHEN 'types' THEN
            SELECT count(*)
            INTO used
            FROM carillon.task_type y
            WHERE y.tenant = of_tenant
              AND y.name NOT IN ('carillon.callback', 'carillon.alert');
            IF used + cardinality(making) > most THEN -- only then is it worth finding out which of them are rows
                used := used + (SELECT count(*)
                                FROM (SELECT unnest(making)
                                      EXCEPT
                                      SELECT carillon.making(y.tenant, y.name)
                                      FROM carillon.task_type y
                                      WHERE y.tenant = of_tenant) m);
            END IF;
        WHEN 'lanes' THEN
            SELECT count(*) INTO used FROM carillon.lane n WHERE n.tenant = of_tenant;
            IF used + cardinality(making) > most THEN
                used := used + (SELECT count(*)
                                FROM (SELECT unnest(making)
                                      EXCEPT
                                      SELECT carillon.making(n.tenant, n.type, n.priority, n.slice, n.route)
                                      FROM carillon.lane n
                                      WHERE n.tenant = of_tenant) m);
            END IF;
        WHEN 'schedules' THEN
            SELECT count(*) INTO used FROM carillon.schedule s WHERE s.tenant = of_tenant;
        WHEN 'keys' THEN
            SELECT count(*)
            INTO used
            FROM carillon.api_key k
            WHERE k.tenant = of_tenant
              AND k.revoked_at IS NULL
              AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp());
    END CASE;
END
$$;

-- Refuses what a user's transaction creates beyond the limits. Nodes check by themselves, because tasks that Carillon
-- creates on its own are never refused. A user's transaction is one that has the exclusive lock of what it creates.
CREATE FUNCTION carillon.refuse_too_many() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    of_tenant int;
    now_has   record;
BEGIN
    FOR of_tenant IN SELECT DISTINCT m.tenant FROM made m LOOP
        IF EXISTS (SELECT
                   FROM pg_locks l
                   WHERE l.pid = pg_backend_pid()
                     AND l.locktype = 'advisory'
                     AND l.mode = 'ExclusiveLock'
                     AND l.classid::bigint = 1667329280 + of_tenant
                     AND l.objsubid = 1) THEN
            SELECT u.used, u.most INTO now_has FROM carillon.tenant_usage(of_tenant, TG_ARGV[0], false) u;
            IF now_has.used > now_has.most THEN
                RAISE EXCEPTION USING ERRCODE = '54000',
                    MESSAGE = format('the tenant may have %s %s', now_has.most, TG_ARGV[0]),
                    HINT = 'Use a type and priority that exists, or have the limit raised: PUT /v1/tenants/{name}.';
            END IF;
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

CREATE TRIGGER refuse_too_many AFTER INSERT ON carillon.task_type REFERENCING NEW TABLE AS made
    FOR EACH STATEMENT EXECUTE FUNCTION carillon.refuse_too_many('types');
CREATE TRIGGER refuse_too_many AFTER INSERT ON carillon.lane REFERENCING NEW TABLE AS made
    FOR EACH STATEMENT EXECUTE FUNCTION carillon.refuse_too_many('lanes');

REVOKE EXECUTE ON FUNCTION carillon.tenant_usage, carillon.refuse_too_many FROM PUBLIC;
