-- The SQL API: tasks that are created and cancelled in the transactions of users who share the database. Such a
-- transaction may stay open for long, so nothing here holds a lock that others wait for: see docs/decisions/0028.
-- The functions run as their owner for callers that are not trusted: every name is qualified, and search_path is set.

-- Fail and be started again rather than let every claim wait behind this migration for a lock.
SET LOCAL lock_timeout = '2s';

-- One row per role and tenant for which it may enqueue and cancel.
CREATE TABLE carillon.sql_role (
    role   regrole NOT NULL, -- not its name, which another role may have later
    tenant int NOT NULL REFERENCES carillon.tenant (id),
    types  text[] NOT NULL DEFAULT '{}', -- empty: all
    PRIMARY KEY (role, tenant)
);

-- One row per running task that a user's transaction asked to cancel. Only nodes write the rows of running tasks: the
-- leader applies the request once it is committed.
CREATE TABLE carillon.cancel_request (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant int NOT NULL,
    task   uuid NOT NULL,
    partition   date NOT NULL,
    who    text NOT NULL
);

--------------------------------------------------------------------------------------------------------------------
-- Checks: the caller, its arguments, and the limits of its tenant.
--------------------------------------------------------------------------------------------------------------------

-- The tenant that the caller acts for, and whether it may. The caller is the role that logged in, or the one it chose
-- with SET ROLE: inside a function that runs as its owner, current_user is that owner.
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
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('type %s is reserved for Carillon', of_type),
            HINT = 'Choose another name.';
    END IF;
    IF pg_has_role(caller, owner, 'USAGE') THEN
        SELECT t.id, t.strict
        INTO tenant, is_strict
        FROM carillon.tenant t
        WHERE t.name = coalesce(wanted, 'default');
        IF tenant IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = '22023',
                MESSAGE = format('tenant %s does not exist', coalesce(wanted, 'default')),
                HINT = 'Create it with PUT /v1/tenants/{name}.';
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
            MESSAGE = format('role %s has no access to tenant %s', caller, coalesce(wanted, 'default')),
            HINT = 'The owner of the schema grants access: SELECT carillon.grant_enqueue(role, tenant).';
    END IF;
    IF cardinality(tenants) > 1 THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('role %s has access to several tenants', caller),
            HINT = 'Name one of them: tenant => ''name''.';
    END IF;
    IF NOT EXISTS (SELECT
                   FROM carillon.sql_role g
                   WHERE pg_has_role(caller, g.role, 'USAGE')
                     AND g.tenant = tenants[1]
                     AND (g.types = '{}' OR of_type = ANY (g.types))) THEN
        RAISE EXCEPTION USING ERRCODE = '42501',
            MESSAGE = format('role %s has no access to tasks of type %s', caller, of_type),
            HINT = 'The owner of the schema grants access: SELECT carillon.grant_enqueue(role, tenant, types).';
    END IF;
    SELECT t.id, t.strict
    INTO tenant, is_strict
    FROM carillon.tenant t
    WHERE t.id = tenants[1];
END
$$;

-- Counts characters as the API does: in UTF-16.
CREATE FUNCTION carillon.refuse_bad_text(field text, value text, max_length int) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF char_length(value) + regexp_count(value, '[\U00010000-\U0010FFFF]') > max_length THEN
        RAISE EXCEPTION USING ERRCODE = '22023',
            MESSAGE = format('%s may have at most %s characters', field, max_length);
    END IF;
    IF value ~ '[\u0001-\u001F\u007F-\u009F]' THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s must not have control characters', field);
    END IF;
END
$$;

CREATE FUNCTION carillon.refuse_bad_payload(payload jsonb) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    json text := payload::text;
BEGIN
    IF octet_length(json) > 262144 THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'payload may have at most 262144 bytes',
            HINT = 'Store it in a table of your own and enqueue its id.';
    END IF;
    -- The search is expensive, and few payloads have enough brackets to be too deep.
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
            RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'metadata may have at most 16 pairs';
        END IF;
        IF pair.key = '' OR jsonb_typeof(pair.value) <> 'string' THEN
            RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'metadata must be an object of strings';
        END IF;
        PERFORM carillon.refuse_bad_text('a name in metadata', pair.key, 64);
        IF char_length(pair.value #>> '{}') > 512 THEN
            RAISE EXCEPTION USING ERRCODE = '22023',
                MESSAGE = 'a value in metadata may have at most 512 characters';
        END IF;
    END LOOP;
END
$$;

-- Refuses what a user's transaction creates beyond the limits of its tenant. Nodes check for themselves, because tasks
-- that Carillon creates on its own are never refused. A user's transaction holds the exclusive lock of what it creates.
CREATE FUNCTION carillon.refuse_too_many() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    of_tenant int;
    now_has   record;
BEGIN
    FOR of_tenant IN SELECT DISTINCT m.tenant FROM added m LOOP
        IF EXISTS (SELECT
                   FROM pg_locks l
                   WHERE l.pid = pg_backend_pid()
                     AND l.locktype = 'advisory'
                     AND l.mode = 'ExclusiveLock'
                     AND l.classid::bigint = 1667329280 + of_tenant
                     AND l.objsubid = 1) THEN
            SELECT u.used, u.max_allowed INTO now_has FROM carillon.tenant_usage(of_tenant, TG_ARGV[0], false) u;
            IF now_has.used > now_has.max_allowed THEN
                RAISE EXCEPTION USING ERRCODE = '54000',
                    MESSAGE = format('the tenant may have at most %s %s', now_has.max_allowed, TG_ARGV[0]),
                    HINT = 'Use an existing type and priority, or have the limit raised: PUT /v1/tenants/{name}.';
            END IF;
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

CREATE TRIGGER refuse_too_many AFTER INSERT ON carillon.task_type REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION carillon.refuse_too_many('types');
CREATE TRIGGER refuse_too_many AFTER INSERT ON carillon.lane REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION carillon.refuse_too_many('lanes');

--------------------------------------------------------------------------------------------------------------------
-- Enqueue.
--------------------------------------------------------------------------------------------------------------------

-- Creates the first lane of a type and priority, and the type, in the caller's transaction.
CREATE FUNCTION carillon.create_lane(of_tenant int, of_type text, of_priority int) RETURNS int LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    lane int;
BEGIN
    -- Each call takes up to two advisory locks, in the lock table of the whole server, until the caller commits.
    IF (SELECT count(*)
        FROM carillon.catalog_change c
        WHERE c.xact_id = pg_current_xact_id()
          AND c.created_at >= transaction_timestamp()) >= 1000 THEN
        RAISE EXCEPTION USING ERRCODE = '54000',
            MESSAGE = 'one transaction may use at most 1000 new types and priorities',
            HINT = 'Commit in between.';
    END IF;
    INSERT INTO carillon.catalog_change DEFAULT VALUES; -- before the catalog changes: see catalog_changed
    IF NOT EXISTS (SELECT FROM carillon.task_type t WHERE t.tenant = of_tenant AND t.name = of_type) THEN
        PERFORM pg_advisory_xact_lock(carillon.creation_lock(of_tenant, of_type));
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
        PERFORM pg_advisory_xact_lock(carillon.creation_lock(of_tenant, of_type, of_priority, 0, 'TYPE'));
        INSERT INTO carillon.lane (tenant, type, priority, slice, route)
        VALUES (of_tenant, of_type, of_priority, 0, 'TYPE')
        ON CONFLICT DO NOTHING; -- the second try finds the lane of another transaction
    END LOOP;
    RETURN lane;
END
$$;

-- The waiting and running tasks of a type and key, latest first. A query over the partitions of all days would keep a
-- lock on each of them until the caller's transaction ends, so it runs in a subtransaction that is rolled back.
CREATE FUNCTION carillon.live_tasks(of_tenant int, of_type text, of_key text, max_tasks int,
                                    OUT ids uuid[], OUT partitions date[])
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    lanes int[] := ARRAY(SELECT l.id FROM carillon.lane l WHERE l.tenant = of_tenant AND l.type = of_type);
BEGIN
    BEGIN
        WITH live AS MATERIALIZED ( -- or the planner would scan all tasks in this order
            SELECT t.id, t.partition
            FROM carillon.task t
            WHERE t.tenant = of_tenant
              AND t.key = of_key
              AND t.lane = ANY (lanes)
              AND t.state = 'PENDING' -- whether it waits or runs
        )
        SELECT array_agg(f.id), array_agg(f.partition)
        INTO ids, partitions
        FROM (SELECT * FROM live ORDER BY live.id DESC LIMIT max_tasks) f;
        RAISE SQLSTATE 'CT002';
    EXCEPTION WHEN SQLSTATE 'CT002' THEN
        NULL; -- variables keep what was found
    END;
END
$$;

-- Whether the task was created after that time. Rolled back like live_tasks. The day is a constant in the query, so
-- that only its own partition is locked.
CREATE FUNCTION carillon.is_younger(of_tenant int, task uuid, than timestamptz) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    millis  bigint := ('x' || left(replace(task::text, '-', ''), 12))::bit(48)::bigint;
    younger boolean;
BEGIN
    BEGIN
        EXECUTE format('SELECT t.created_at > $1 FROM carillon.task t WHERE t.tenant = $2 AND t.id = $3'
                       ' AND t.partition = DATE %L', (to_timestamp(millis / 1000.0) AT TIME ZONE 'UTC')::date)
        INTO younger
        USING than, of_tenant, task;
        RAISE SQLSTATE 'CT002';
    EXCEPTION WHEN SQLSTATE 'CT002' THEN
        NULL;
    END;
    RETURN coalesce(younger, false);
END
$$;

-- The existing task that a unique one is a duplicate of. If there is none, the new task has the key from now on.
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
    ON CONFLICT (tenant, type, key) DO UPDATE -- for the row lock: one transaction at a time decides about a key
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

-- Creates a task in the caller's transaction: it exists once that is committed, and never did if it is rolled back.
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
    ready_at timestamptz := due + floor(random() * 1000) * interval '1 microsecond';
    due_day  date := (due AT TIME ZONE 'UTC')::date;
    its_day  date; -- not `day`: in a query that would mean the column
    its_last date;
    its_from bigint;
    id_ms    bigint;
    random   text := gen_random_uuid()::text;
    millis   text;
    id       uuid;
    existing uuid;
BEGIN
    SELECT c.tenant, c.is_strict INTO caller FROM carillon.sql_caller(enqueue.tenant, enqueue.type) c;
    IF enqueue.due_at IS NOT NULL AND enqueue.delay IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'give either due_at or delay, not both';
    END IF;
    IF at + enqueue.delay < at THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'delay must not be negative';
    END IF;
    IF due > horizon THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'a task may be due at most 730 days ahead';
    END IF;
    IF enqueue.expires_at <= due OR enqueue.expires_at > horizon + interval '17520 hours' THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'expires_at must be after due_at, and within 1460 days';
    END IF;
    IF enqueue.priority NOT BETWEEN 0 AND 9 THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'priority must be from 0 to 9';
    END IF;
    IF enqueue.unique_for IS NOT NULL AND enqueue.key IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'unique_for requires a key';
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
            HINT = 'Create it with PUT /v1/types/{name}.';
    END IF;
    IF settings.has_schema THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('payloads of type %s must match a JSON Schema, which SQL cannot check', enqueue.type),
            HINT = 'Create the task with POST /v1/tasks, or remove the schema from the type.';
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
        lane := carillon.create_lane(caller.tenant, enqueue.type, coalesce(enqueue.priority, settings.priority, 5));
    END IF;

    -- Only nodes create partitions, because that takes locks. If the day has none yet, those that it shares with other
    -- days serve as well, or else those of an earlier day.
    SELECT s.day, coalesce(s.last_day, s.day)
    INTO its_day, its_last
    FROM carillon.partition s
    WHERE s.day <= due_day
    ORDER BY coalesce(s.last_day, s.day) >= due_day DESC, s.day DESC
    LIMIT 1;
    IF its_last < (at AT TIME ZONE 'UTC')::date THEN -- so old that it may be dropped meanwhile
        PERFORM FROM carillon.partition s WHERE s.day = its_day FOR KEY SHARE;
        its_day := CASE WHEN FOUND THEN its_day END;
    END IF;
    IF its_day IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'there is no partition yet for the day of the task',
            HINT = 'Start a Carillon server on this database: it creates the partitions and runs the task.';
    END IF;
    id_ms := floor(extract(epoch FROM due) * 1000);
    -- The time in the id lies in the day of the partition: as in DayRange.idTime, or at the end of that day.
    IF its_day < due_day OR (its_last > due_day AND due_day > (at AT TIME ZONE 'UTC')::date + 32) THEN
        its_from := extract(epoch FROM its_day::timestamp AT TIME ZONE 'UTC') * 1000;
        id_ms := its_from + CASE WHEN its_last < due_day THEN 86399999
                                 ELSE (id_ms - its_from) / (its_last - its_day + 1) END;
    END IF;
    millis := lpad(to_hex(id_ms), 12, '0');
    id := (left(millis, 8) || '-' || right(millis, 4) || '-7' || substr(random, 16))::uuid;

    IF enqueue.unique_for IS NOT NULL THEN
        existing := carillon.existing_task(caller.tenant, enqueue.type, enqueue.key, id, at, enqueue.unique_for);
        IF existing IS NOT NULL THEN
            RETURN existing;
        END IF;
    END IF;
    INSERT INTO carillon.task (
        tenant, id, partition, lane, ready_at, due_at, created_at, expires_at, key, concurrency_key, payload, metadata)
    VALUES (
        caller.tenant, id, its_day, lane, ready_at, due, at, enqueue.expires_at, enqueue.key, enqueue.concurrency_key,
        enqueue.payload::text, nullif(enqueue.metadata, '{}'));
    INSERT INTO carillon.queue (id, partition, lane, ready_at, expires_at, payload_bytes, concurrency_key)
    VALUES (
        id, its_day, lane, ready_at, enqueue.expires_at, coalesce(octet_length(enqueue.payload::text), 0),
        enqueue.concurrency_key);
    RETURN id;
END
$$;

--------------------------------------------------------------------------------------------------------------------
-- Cancel.
--------------------------------------------------------------------------------------------------------------------

-- Cancels those of the tasks that wait, all of one day, in the caller's transaction. Returns how many, and those that
-- run: the lock on them must not stay, or the node that runs them could not write their end. A claim ignores locks on
-- tasks. So a task must not stay locked, but still in queue, while this waits for another user's lock on the next task.
CREATE FUNCTION carillon.cancel_waiting(of_tenant int, of_partition date, tasks uuid[], by text,
                                        OUT cancelled int, OUT running uuid[])
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    suffix text := to_char(of_partition, 'YYYYMMDD');
    waits  uuid[];
    size   int := cardinality(tasks); -- of a batch
    batch  uuid[];
    live   uuid[]; -- of the batch, those that have not ended
    still  uuid[]; -- of these, those that have not been claimed
BEGIN
    cancelled := 0;
    -- Running tasks are not even locked for a moment, except those that are claimed after this statement.
    EXECUTE format(
        'SELECT coalesce(array_agg(h.id ORDER BY h.id) FILTER (WHERE h.waits), ''{}''),'
        '       coalesce(array_agg(h.id) FILTER (WHERE h.waits IS NULL), ''{}'')'
        ' FROM (SELECT t.id, (SELECT true FROM carillon.%2$I q'
        '                     WHERE q.lane = t.lane AND q.ready_at = t.ready_at AND q.id = t.id LIMIT 1) AS waits'
        '       FROM carillon.%1$I t'
        '       WHERE t.tenant = $1 AND t.id = ANY ($2) AND t.state = ''PENDING'') h',
        'task_' || suffix, 'queue_' || suffix)
    INTO waits, running
    USING of_tenant, tasks;
    WHILE waits <> '{}' LOOP
        batch := waits[:size];
        BEGIN
            EXECUTE format(
                'SELECT coalesce(array_agg(h.id), ''{}'')'
                ' FROM (SELECT t.id FROM carillon.%I t'
                '       WHERE t.tenant = $1 AND t.id = ANY ($2) AND t.state = ''PENDING'''
                '       ORDER BY t.id FOR UPDATE %s) h',
                'task_' || suffix, CASE WHEN cardinality(batch) > 1 THEN 'NOWAIT' ELSE '' END)
            INTO live
            USING of_tenant, batch;
            -- A statement of its own, so that it sees what was committed while we waited for the lock. It waits for a
            -- claim in progress. Once their rows in queue are deleted, no claim can take the tasks. The rows are found
            -- one by one: with old statistics, a join may read the whole queue first.
            EXECUTE format(
                'WITH entry AS MATERIALIZED ('
                '    SELECT e.row_id FROM carillon.%1$I t CROSS JOIN LATERAL ('
                '        SELECT q.ctid AS row_id FROM carillon.%2$I q'
                '        WHERE q.lane = t.lane AND q.ready_at = t.ready_at AND q.id = t.id FOR UPDATE) e'
                '    WHERE t.tenant = $1 AND t.id = ANY ($2)'
                ' ), gone AS ('
                '    DELETE FROM carillon.%2$I q USING entry WHERE q.ctid = entry.row_id RETURNING q.id)'
                ' SELECT coalesce(array_agg(g.id ORDER BY g.id), ''{}'') FROM gone g',
                'task_' || suffix, 'queue_' || suffix)
            INTO still
            USING of_tenant, live;
            IF cardinality(still) < cardinality(batch) THEN
                RAISE SQLSTATE 'CT002';
            END IF;
            EXECUTE format(
                'WITH cancelled AS ('
                '    UPDATE carillon.%1$I t'
                '    SET state = ''CANCELLED'', ready_at = NULL, finished_at = clock_timestamp(),'
                '        version = t.version + 1'
                '    WHERE t.tenant = $1 AND t.id = ANY ($2)'
                '    RETURNING t.tenant, t.id, t.partition, t.fence)'
                ' INSERT INTO carillon.%2$I (tenant, task, partition, at, from_state, to_state, fence, who)'
                ' SELECT tenant, id, partition, clock_timestamp(), ''PENDING'', ''CANCELLED'', fence, $3'
                ' FROM cancelled',
                'task_' || suffix, 'transition_' || suffix)
            USING of_tenant, batch, by;
            cancelled := cancelled + cardinality(batch);
            waits := waits[size + 1:];
            size := size * 2;
        EXCEPTION
            WHEN SQLSTATE 'CT002' THEN -- some run by now, or have ended
                running := running || ARRAY(SELECT unnest(live) EXCEPT SELECT unnest(still));
                waits := still || waits[size + 1:];
            WHEN lock_not_available THEN
                IF cardinality(batch) = 1 THEN
                    RAISE; -- the caller's own lock_timeout
                END IF;
                size := cardinality(batch) / 2;
        END;
    END LOOP;
END
$$;

-- Cancels the tasks of a type and key in the caller's transaction and returns how many. Running tasks are asked to stop
-- once it is committed, and are not counted.
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
    cancelled int := 0;
BEGIN
    SELECT c.tenant, c.who INTO caller FROM carillon.sql_caller(cancel.tenant, cancel.type) c;
    IF cancel.key IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'key is required';
    END IF;
    SELECT l.ids, l.partitions
    INTO found
    FROM carillon.live_tasks(caller.tenant, cancel.type, cancel.key, 10000) l;
    FOR one IN
        SELECT f.partition, array_agg(f.id) AS tasks
        FROM unnest(found.ids, found.partitions) AS f (id, partition)
        GROUP BY f.partition
        ORDER BY f.partition
    LOOP
        SELECT w.cancelled, w.running
        INTO ended
        FROM carillon.cancel_waiting(caller.tenant, one.partition, one.tasks, caller.who) w;
        cancelled := cancelled + ended.cancelled;
        INSERT INTO carillon.cancel_request (tenant, task, partition, who)
        SELECT caller.tenant, r.id, one.partition, caller.who
        FROM unnest(ended.running) AS r (id);
    END LOOP;
    INSERT INTO carillon.audit (tenant, who, action, subject, detail)
    VALUES (caller.tenant, caller.who, 'task.cancel', 'matching', jsonb_build_object('cancelled', cancelled));
    RETURN cancelled;
END
$$;

--------------------------------------------------------------------------------------------------------------------
-- Grants.
--------------------------------------------------------------------------------------------------------------------

-- Lets a role enqueue and cancel for a tenant, and nothing else. If types are named, only those.
CREATE FUNCTION carillon.grant_enqueue(role name, tenant text DEFAULT 'default', types text[] DEFAULT '{}')
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    for_tenant int := (SELECT t.id FROM carillon.tenant t WHERE t.name = grant_enqueue.tenant);
BEGIN
    IF for_tenant IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('tenant %s does not exist', grant_enqueue.tenant),
            HINT = 'Create it with PUT /v1/tenants/{name}.';
    END IF;
    IF grant_enqueue.types IS NULL
       OR EXISTS (SELECT
                  FROM unnest(grant_enqueue.types) AS n
                  WHERE (n COLLATE "C" ~ '^[A-Za-z0-9_.-]{1,100}$') IS NOT TRUE) THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'types must match [A-Za-z0-9_.-]{1,100}',
            HINT = 'Omit types to allow all of them.';
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA carillon TO %I', grant_enqueue.role);
    EXECUTE format('GRANT EXECUTE ON FUNCTION carillon.enqueue, carillon.cancel TO %I', grant_enqueue.role);
    INSERT INTO carillon.sql_role AS g (role, tenant, types)
    VALUES (quote_ident(grant_enqueue.role)::regrole, for_tenant, grant_enqueue.types)
    ON CONFLICT (role, tenant) DO UPDATE
    SET types = excluded.types;
END
$$;

-- Revokes everything that grant_enqueue granted to the role.
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
