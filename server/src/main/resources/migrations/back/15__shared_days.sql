-- Takes back V15. Slots that several days share stay, and are kept as long as those of their first day.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

-- Whether the task was created after that time. Given back as above.
CREATE OR REPLACE FUNCTION carillon.is_younger(of_tenant int, task uuid, than timestamptz) RETURNS boolean LANGUAGE plpgsql
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

-- Makes a task in the caller's transaction: it is there when that is committed, and never was if it is rolled back.
CREATE OR REPLACE FUNCTION carillon.enqueue(
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

ALTER TABLE carillon.slot
    DROP COLUMN last_day,
    DROP COLUMN restored;
