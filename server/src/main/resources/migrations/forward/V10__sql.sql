-- Tasks that are made and cancelled in the transactions of those who share the database. Such a transaction may stay
-- open for long, so nothing here locks what others need: see docs/decisions/0028.
-- The functions run as their owner for callers who are not trusted: every name is qualified, and search_path is set.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

-- Who may enqueue and cancel, for which tenants.
CREATE TABLE carillon.sql_role (
    role   regrole NOT NULL, -- not its name, which another role may have later
    tenant int NOT NULL REFERENCES carillon.tenant (id),
    types  text[] NOT NULL DEFAULT '{}', -- empty means all
    PRIMARY KEY (role, tenant)
);

-- Running tasks whose end was asked for. Their rows are the nodes' to write: the leader does it once this is committed.
CREATE TABLE carillon.cancel_request (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant int NOT NULL,
    task   uuid NOT NULL,
    slot   date NOT NULL,
    who    text NOT NULL
);

-- Changes that users' transactions made to types and lanes. The catalog's version is its number and one for each of
-- these: a row may be added without waiting for anybody, the number can only be changed by one at a time.
CREATE TABLE carillon.catalog_change (
    made_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

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

-- What somebody who makes a type, or a lane of it, holds until it is committed: a node that wants to make the same
-- looks here instead of waiting.
CREATE FUNCTION carillon.making(tenant int, type text, priority int DEFAULT NULL, slice int DEFAULT NULL,
                                route text DEFAULT NULL)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT hashtextextended(concat_ws('/', 'carillon', tenant, type, priority, slice, route), 0)
$$;

-- Makes the first lane of a type and priority, and the type, in the caller's transaction.
CREATE FUNCTION carillon.make_lane(of_tenant int, of_type text, of_priority int) RETURNS int LANGUAGE plpgsql
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

-- As the API counts: in UTF-16.
CREATE FUNCTION carillon.refuse_bad_text(field text, value text, most int) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF char_length(value) + regexp_count(value, '[\U00010000-\U0010FFFF]') > most THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s may have %s characters', field, most);
    END IF;
    IF value ~ '[\u0001-\u001F\u007F-\u009F]' THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s must not have control characters', field);
    END IF;
END
$$;

-- For whom the caller acts. The caller is the role that logged in, or the one that it chose with SET ROLE: within a
-- function that runs as its owner, current_user is that owner.
CREATE FUNCTION carillon.sql_caller(wanted text, of_type text, OUT tenant int, OUT is_strict boolean, OUT who text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    caller  name := CASE current_setting('role') WHEN 'none' THEN session_user ELSE current_setting('role')::name END;
    owner   oid := (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'carillon');
    tenants int[];
BEGIN
    who := 'sql:' || caller;
    IF of_type IS NULL OR of_type COLLATE "C" !~ '^[A-Za-z0-9_.-]{1,100}$' THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'type must match [A-Za-z0-9_.-]{1,100}';
    END IF;
    IF of_type IN ('carillon.callback', 'carillon.alert') THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the type %s is Carillon''s own', of_type),
            HINT = 'Choose another name.';
    END IF;
    IF pg_has_role(caller, owner, 'USAGE') THEN
        SELECT t.id, t.strict
        INTO tenant, is_strict
        FROM carillon.tenant t
        WHERE t.name = coalesce(wanted, 'default');
        IF tenant IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'there is no such tenant',
                HINT = 'Make it with PUT /v1/tenants/{name}.';
        END IF;
        RETURN;
    END IF;

    SELECT array_agg(DISTINCT g.tenant)
    INTO tenants
    FROM carillon.sql_role g
    WHERE pg_has_role(caller, g.role, 'USAGE')
      AND (wanted IS NULL OR g.tenant = (SELECT t.id FROM carillon.tenant t WHERE t.name = wanted));
    IF tenants IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '42501',
            MESSAGE = format('the role %s may not do this for the tenant %s', caller, coalesce(wanted, 'default')),
            HINT = 'The owner of the schema grants it: SELECT carillon.grant_enqueue(role, tenant).';
    END IF;
    IF cardinality(tenants) > 1 THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('the role %s acts for several tenants', caller),
            HINT = 'Say which one: tenant => ''name''.';
    END IF;
    IF NOT EXISTS (SELECT
                   FROM carillon.sql_role g
                   WHERE pg_has_role(caller, g.role, 'USAGE')
                     AND g.tenant = tenants[1]
                     AND (g.types = '{}' OR of_type = ANY (g.types))) THEN
        RAISE EXCEPTION USING ERRCODE = '42501',
            MESSAGE = format('the role %s may not do this for tasks of type %s', caller, of_type),
            HINT = 'The owner of the schema grants it: SELECT carillon.grant_enqueue(role, tenant, types).';
    END IF;
    SELECT t.id, t.strict
    INTO tenant, is_strict
    FROM carillon.tenant t
    WHERE t.id = tenants[1];
END
$$;

CREATE FUNCTION carillon.refuse_bad_payload(payload jsonb) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    json text := payload::text;
BEGIN
    IF octet_length(json) > 262144 THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'payload may have 262144 bytes',
            HINT = 'Keep it in a table of yours and enqueue what finds it.';
    END IF;
    -- Few have so many brackets that they could be too deep.
    IF length(json) - length(translate(json, '[{', '')) > 63
       AND jsonb_path_exists(payload, 'strict $.**{63} ? (@.type() == "object" || @.type() == "array")') THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'payload is nested deeper than 63 levels';
    END IF;
END
$$;

CREATE FUNCTION carillon.refuse_bad_metadata(metadata jsonb) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    pair record;
    n    int := 0;
BEGIN
    IF jsonb_typeof(metadata) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'metadata must be an object of strings';
    END IF;
    FOR pair IN SELECT m.key, m.value FROM jsonb_each(metadata) m LOOP
        n := n + 1;
        IF n > 16 THEN
            RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'metadata may have 16 pairs';
        END IF;
        IF pair.key = '' OR jsonb_typeof(pair.value) <> 'string' THEN
            RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'metadata must be an object of strings';
        END IF;
        PERFORM carillon.refuse_bad_text('a name in metadata', pair.key, 64);
        IF char_length(pair.value #>> '{}') > 512 THEN
            RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'a value in metadata may have 512 characters';
        END IF;
    END LOOP;
END
$$;

-- The tasks of a type and key that wait or run, latest first. A look through the tables of all days would keep a lock
-- on each of them until the caller's transaction ends, so the look is taken back.
CREATE FUNCTION carillon.live_tasks(of_tenant int, of_type text, of_key text, most int,
                                    OUT ids uuid[], OUT slots date[], OUT states carillon.task_state[])
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    lanes int[] := ARRAY(SELECT l.id FROM carillon.lane l WHERE l.tenant = of_tenant AND l.type = of_type);
BEGIN
    BEGIN
        WITH live AS MATERIALIZED ( -- or the order would be had by going through all tasks, latest first
            SELECT t.id, t.slot, t.state
            FROM carillon.task t
            WHERE t.tenant = of_tenant
              AND t.key = of_key
              AND t.lane = ANY (lanes)
              AND t.state IN ('PENDING', 'RUNNING')
        )
        SELECT array_agg(f.id), array_agg(f.slot), array_agg(f.state)
        INTO ids, slots, states
        FROM (SELECT * FROM live ORDER BY live.id DESC LIMIT most) f;
        RAISE SQLSTATE 'CT002';
    EXCEPTION WHEN SQLSTATE 'CT002' THEN
        NULL; -- what was found stays
    END;
END
$$;

-- Whether the task was created after that time. Given back as above.
CREATE FUNCTION carillon.is_younger(of_tenant int, task uuid, than timestamptz) RETURNS boolean LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    millis  bigint := ('x' || left(replace(task::text, '-', ''), 12))::bit(48)::bigint;
    younger boolean;
BEGIN
    BEGIN
        SELECT t.created_at > than
        INTO younger
        FROM carillon.task t
        WHERE t.tenant = of_tenant
          AND t.id = task
          AND t.slot = (to_timestamp(millis / 1000.0) AT TIME ZONE 'UTC')::date;
        RAISE SQLSTATE 'CT002';
    EXCEPTION WHEN SQLSTATE 'CT002' THEN
        NULL;
    END;
    RETURN coalesce(younger, false);
END
$$;

-- The task that stands in the way of a unique one. If none does, the key is the new task's from now on.
CREATE FUNCTION carillon.existing_task(of_tenant int, of_type text, of_key text, new_task uuid, at timestamptz,
                                       span interval)
RETURNS uuid LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    holder uuid;
    live   uuid;
BEGIN
    INSERT INTO carillon.unique_task AS u (tenant, type, key, task, held_until)
    VALUES (of_tenant, of_type, of_key, new_task, at + span)
    ON CONFLICT (tenant, type, key) DO UPDATE -- for its row lock: one transaction at a time decides for a key
    SET held_until = greatest(u.held_until, excluded.held_until)
    RETURNING u.task INTO holder;
    IF holder <> new_task AND carillon.is_younger(of_tenant, holder, at - span) THEN
        RETURN holder;
    END IF;
    SELECT l.ids[1] INTO live FROM carillon.live_tasks(of_tenant, of_type, of_key, 1) l;
    IF live IS NULL AND holder <> new_task THEN
        UPDATE carillon.unique_task u
        SET task = new_task
        WHERE u.tenant = of_tenant
          AND u.type = of_type
          AND u.key = of_key;
    END IF;
    RETURN live;
END
$$;

-- Makes a task in the caller's transaction: it is there when that is committed, and never was if it is rolled back.
CREATE FUNCTION carillon.enqueue(
    type text, payload jsonb DEFAULT NULL, key text DEFAULT NULL, due_at timestamptz DEFAULT NULL,
    priority int DEFAULT NULL, delay interval DEFAULT NULL, expires_at timestamptz DEFAULT NULL,
    concurrency_key text DEFAULT NULL, metadata jsonb DEFAULT NULL, unique_for interval DEFAULT NULL,
    tenant text DEFAULT NULL)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    at       timestamptz := clock_timestamp();
    horizon  timestamptz := at + interval '17520 hours';
    due      timestamptz := greatest(at, coalesce(enqueue.due_at, at + enqueue.delay, at));
    caller   record;
    settings record;
    wanted   int;
    lane     int;
    its_day  date; -- not `day`: in a query that would be the column
    id_at    timestamptz := due;
    random   text := gen_random_uuid()::text;
    millis   text;
    id       uuid;
    existing uuid;
BEGIN
    SELECT c.tenant, c.is_strict INTO caller FROM carillon.sql_caller(enqueue.tenant, enqueue.type) c;
    IF enqueue.due_at IS NOT NULL AND enqueue.delay IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'due_at and delay exclude each other';
    END IF;
    IF at + enqueue.delay < at THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'delay must not be negative';
    END IF;
    IF due > horizon THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'a task may be due 730 days ahead';
    END IF;
    IF enqueue.expires_at <= due OR enqueue.expires_at > horizon + interval '17520 hours' THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'expires_at must be after due_at, and within 1460 days';
    END IF;
    IF enqueue.priority NOT BETWEEN 0 AND 9 THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'priority must be from 0 to 9';
    END IF;
    IF enqueue.unique_for IS NOT NULL AND enqueue.key IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'unique_for needs a key to be unique by';
    END IF;
    IF at + enqueue.unique_for < at OR at + enqueue.unique_for > horizon THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'unique_for must be from 0 to 730 days';
    END IF;
    IF enqueue.key IS NOT NULL THEN
        PERFORM carillon.refuse_bad_text('key', enqueue.key, 200);
    END IF;
    IF enqueue.concurrency_key IS NOT NULL THEN
        PERFORM carillon.refuse_bad_text('concurrency_key', enqueue.concurrency_key, 200);
    END IF;
    IF enqueue.payload IS NOT NULL THEN
        PERFORM carillon.refuse_bad_payload(enqueue.payload);
    END IF;
    IF enqueue.metadata IS NOT NULL THEN
        PERFORM carillon.refuse_bad_metadata(enqueue.metadata);
    END IF;

    SELECT t.priority, t.slices, t.schema IS NOT NULL AS has_schema
    INTO settings
    FROM carillon.task_type t
    WHERE t.tenant = caller.tenant
      AND t.name = enqueue.type;
    IF settings.priority IS NULL AND caller.is_strict THEN
        RAISE EXCEPTION USING ERRCODE = '22023',
            MESSAGE = format('the tenant is strict and has no type %s', enqueue.type),
            HINT = 'Make it with PUT /v1/types/{name}.';
    END IF;
    IF settings.has_schema THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('payloads of type %s must fit a schema, which is not checked in SQL', enqueue.type),
            HINT = 'Create the task with POST /v1/tasks, or take the schema off the type.';
    END IF;
    wanted := CASE WHEN settings.slices > 1 THEN floor(random() * settings.slices)::int ELSE 0 END;
    SELECT l.id
    INTO lane
    FROM carillon.lane l
    WHERE l.tenant = caller.tenant
      AND l.type = enqueue.type
      AND l.priority = coalesce(enqueue.priority, settings.priority, 5)
      AND l.route = 'TYPE'
    ORDER BY l.slice = wanted DESC, l.slice
    LIMIT 1;
    IF lane IS NULL OR settings.priority IS NULL THEN
        lane := carillon.make_lane(caller.tenant, enqueue.type, coalesce(enqueue.priority, settings.priority, 5));
    END IF;

    -- Days are made by nodes: that takes locks. Where the day does not exist yet, an earlier one serves as well.
    SELECT s.day
    INTO its_day
    FROM carillon.slot s
    WHERE s.day <= (due AT TIME ZONE 'UTC')::date
    ORDER BY s.day DESC
    LIMIT 1;
    IF its_day < (at AT TIME ZONE 'UTC')::date THEN -- so old that it may be dropped
        PERFORM FROM carillon.slot s WHERE s.day = its_day FOR KEY SHARE;
        its_day := CASE WHEN FOUND THEN its_day END;
    END IF;
    IF its_day IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'there is no day yet that the task could be kept in',
            HINT = 'Start a server on this database: it makes them, and will have to run the task.';
    END IF;
    IF its_day < (due AT TIME ZONE 'UTC')::date THEN
        id_at := (its_day + 1)::timestamp AT TIME ZONE 'UTC' - interval '1 millisecond';
    END IF;
    millis := lpad(to_hex(floor(extract(epoch FROM id_at) * 1000)::bigint), 12, '0');
    id := (left(millis, 8) || '-' || right(millis, 4) || '-7' || substr(random, 16))::uuid;

    IF enqueue.unique_for IS NOT NULL THEN
        existing := carillon.existing_task(caller.tenant, enqueue.type, enqueue.key, id, at, enqueue.unique_for);
        IF existing IS NOT NULL THEN
            RETURN existing;
        END IF;
    END IF;
    INSERT INTO carillon.task (
        tenant, id, slot, lane, ready_at, due_at, created_at, expires_at, key, concurrency_key, payload, metadata)
    VALUES (
        caller.tenant, id, its_day, lane, due + floor(random() * 1000) * interval '1 microsecond', due, at,
        enqueue.expires_at, enqueue.key, enqueue.concurrency_key, enqueue.payload::text,
        nullif(enqueue.metadata, '{}'));
    RETURN id;
END
$$;

-- Cancels those of one day that wait, in the caller's transaction; says how many, and which run by now. Of those not
-- even a lock may stay, or the node that runs them could not write their end.
CREATE FUNCTION carillon.cancel_waiting(of_tenant int, of_slot date, tasks uuid[], by text,
                                        OUT cancelled int, OUT running uuid[])
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    suffix text := to_char(of_slot, 'YYYYMMDD');
    waits  uuid[] := tasks;
    still  uuid[];
    runs   uuid[];
BEGIN
    cancelled := 0;
    running := '{}';
    WHILE waits <> '{}' LOOP
        BEGIN
            EXECUTE format(
                'SELECT coalesce(array_agg(h.id) FILTER (WHERE h.state = ''PENDING''), ''{}''),'
                '       coalesce(array_agg(h.id) FILTER (WHERE h.state = ''RUNNING''), ''{}'')'
                ' FROM (SELECT t.id, t.state FROM carillon.%I t'
                '       WHERE t.tenant = $1 AND t.id = ANY ($2) ORDER BY t.id FOR UPDATE) h', 'task_' || suffix)
            INTO still, runs
            USING of_tenant, waits;
            IF cardinality(still) < cardinality(waits) THEN
                RAISE SQLSTATE 'CT002';
            END IF;
            EXECUTE format(
                'WITH cancelled AS ('
                '    UPDATE carillon.%1$I t'
                '    SET state = ''CANCELLED'', ready_at = NULL, finished_at = clock_timestamp(), version = t.version + 1'
                '    WHERE t.tenant = $1 AND t.id = ANY ($2)'
                '    RETURNING t.tenant, t.id, t.slot, t.fence)'
                ' INSERT INTO carillon.%2$I (tenant, task, slot, at, from_state, to_state, fence, who)'
                ' SELECT tenant, id, slot, clock_timestamp(), ''PENDING'', ''CANCELLED'', fence, $3 FROM cancelled',
                'task_' || suffix, 'transition_' || suffix)
            USING of_tenant, waits, by;
            cancelled := cardinality(waits);
            EXIT;
        EXCEPTION WHEN SQLSTATE 'CT002' THEN
            running := running || runs;
            waits := still;
        END;
    END LOOP;
END
$$;

-- Cancels the tasks of a type and key in the caller's transaction; says how many. Those that run are asked to end once
-- it is committed, and not counted.
CREATE FUNCTION carillon.cancel(type text, key text, tenant text DEFAULT NULL)
RETURNS int LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    caller    record;
    found     record;
    one       record;
    ended     record;
    running   uuid[];
    cancelled int := 0;
BEGIN
    SELECT c.tenant, c.who INTO caller FROM carillon.sql_caller(cancel.tenant, cancel.type) c;
    IF cancel.key IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'say which tasks: key is missing';
    END IF;
    SELECT l.ids, l.slots, l.states INTO found FROM carillon.live_tasks(caller.tenant, cancel.type, cancel.key, 10000) l;
    FOR one IN
        SELECT f.slot,
               coalesce(array_agg(f.id) FILTER (WHERE f.state = 'PENDING'), '{}') AS waiting,
               coalesce(array_agg(f.id) FILTER (WHERE f.state = 'RUNNING'), '{}') AS running
        FROM unnest(found.ids, found.slots, found.states) AS f (id, slot, state)
        GROUP BY f.slot
        ORDER BY f.slot
    LOOP
        running := one.running;
        IF one.waiting <> '{}' THEN
            SELECT w.cancelled, w.running
            INTO ended
            FROM carillon.cancel_waiting(caller.tenant, one.slot, one.waiting, caller.who) w;
            cancelled := cancelled + ended.cancelled;
            running := running || ended.running;
        END IF;
        INSERT INTO carillon.cancel_request (tenant, task, slot, who)
        SELECT caller.tenant, r.id, one.slot, caller.who
        FROM unnest(running) AS r (id);
    END LOOP;
    INSERT INTO carillon.audit (tenant, who, action, subject, detail)
    VALUES (caller.tenant, caller.who, 'task.cancel', 'matching', jsonb_build_object('cancelled', cancelled));
    RETURN cancelled;
END
$$;

-- Lets a role enqueue and cancel for a tenant, and nothing else. Types that are named are all that it may use.
CREATE FUNCTION carillon.grant_enqueue(role name, tenant text DEFAULT 'default', types text[] DEFAULT '{}')
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    for_tenant int := (SELECT t.id FROM carillon.tenant t WHERE t.name = grant_enqueue.tenant);
BEGIN
    IF for_tenant IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('there is no tenant %s', grant_enqueue.tenant),
            HINT = 'Make it with PUT /v1/tenants/{name}.';
    END IF;
    IF grant_enqueue.types IS NULL
       OR EXISTS (SELECT
                  FROM unnest(grant_enqueue.types) AS n
                  WHERE (n COLLATE "C" ~ '^[A-Za-z0-9_.-]{1,100}$') IS NOT TRUE) THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'types must match [A-Za-z0-9_.-]{1,100}',
            HINT = 'Leave them out to allow all.';
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA carillon TO %I', grant_enqueue.role);
    EXECUTE format('GRANT EXECUTE ON FUNCTION carillon.enqueue, carillon.cancel TO %I', grant_enqueue.role);
    INSERT INTO carillon.sql_role AS g (role, tenant, types)
    VALUES (quote_ident(grant_enqueue.role)::regrole, for_tenant, grant_enqueue.types)
    ON CONFLICT (role, tenant) DO UPDATE
    SET types = excluded.types;
END
$$;

-- Takes back all that the role was granted so.
CREATE FUNCTION carillon.revoke_enqueue(role name) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM carillon.sql_role g WHERE g.role = quote_ident(revoke_enqueue.role)::regrole;
    EXECUTE format('REVOKE EXECUTE ON FUNCTION carillon.enqueue, carillon.cancel FROM %I', revoke_enqueue.role);
    EXECUTE format('REVOKE USAGE ON SCHEMA carillon FROM %I', revoke_enqueue.role);
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA carillon FROM PUBLIC;
