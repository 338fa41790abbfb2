-- The schema of Carillon: tables, indexes, triggers and the functions that nodes call.
-- V2__sql_api.sql adds what users call in SQL.
-- Every name is qualified, so that nothing depends on the search_path of a session.

--------------------------------------------------------------------------------------------------------------------
-- Tenancy: tenants and their limits, task types, API keys, the audit log, and the version of what nodes cache.
--------------------------------------------------------------------------------------------------------------------

-- One row per tenant. NULL in a limit means the default in tenant_limits.
CREATE TABLE carillon.tenant (
    id            int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    strict        boolean NOT NULL DEFAULT false, -- only configured types may be used
    paused        boolean NOT NULL DEFAULT false,
    weight        int NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000), -- stored, not used yet
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    alert         jsonb, -- the target and threshold of alerts about growing groups of dead letters
    publish       text[], -- such as kafka/main/orders.*; NULL: everywhere for the tenant default, nowhere for others
    max_types     int,
    max_lanes     int,
    max_schedules int,
    max_keys      int
);

INSERT INTO carillon.tenant (name) VALUES ('default');

-- One row: the default limits of tenants. Each node writes its settings here when it starts.
CREATE TABLE carillon.tenant_limits (
    only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    types     int NOT NULL DEFAULT 1000,
    lanes     int NOT NULL DEFAULT 10000,
    schedules int NOT NULL DEFAULT 10000,
    keys      int NOT NULL DEFAULT 1000
);

INSERT INTO carillon.tenant_limits DEFAULT VALUES;

-- One row per task type of a tenant: the settings that its tasks share.
CREATE TABLE carillon.task_type (
    tenant                int NOT NULL REFERENCES carillon.tenant (id),
    name                  text NOT NULL CHECK (name ~ '^[A-Za-z0-9_.-]{1,100}$'),
    target                jsonb, -- NULL: workers pull its tasks
    retry                 jsonb, -- NULL: the default policy
    timeout_ms            bigint NOT NULL DEFAULT 30000,
    lease_timeout_ms      bigint NOT NULL DEFAULT 30000,
    priority              smallint NOT NULL DEFAULT 5 CHECK (priority BETWEEN 0 AND 9),
    slices                smallint NOT NULL DEFAULT 1 CHECK (slices BETWEEN 1 AND 64),
    paused                boolean NOT NULL DEFAULT false,
    paused_reason         text,
    signing_secret        bytea,
    previous_secret       bytea, -- signs alongside the new one until previous_secret_until
    previous_secret_until timestamptz,
    version               int NOT NULL DEFAULT 1,
    created_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    status_rules          jsonb, -- which HTTP statuses mean success, retry or dead; NULL: the default rules
    schema                text, -- the JSON Schema of the payload, byte for byte
    on_complete           jsonb, -- the target of a callback for each task that completes
    on_dead               jsonb, -- the target of a callback for each task that dies
    PRIMARY KEY (tenant, name)
);

-- One row per API key.
CREATE TABLE carillon.api_key (
    id         text PRIMARY KEY,
    tenant     int NOT NULL REFERENCES carillon.tenant (id),
    name       text NOT NULL,
    role       text NOT NULL,
    types      text[] NOT NULL DEFAULT '{}', -- empty: all
    hash       bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz
);

CREATE INDEX api_key_tenant ON carillon.api_key (tenant, id);

-- One row per change by an operator, written in the transaction of the change.
CREATE TABLE carillon.audit (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant  int NOT NULL REFERENCES carillon.tenant (id),
    at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    who     text NOT NULL,
    action  text NOT NULL,
    subject text NOT NULL,
    detail  jsonb
);

CREATE INDEX audit_tenant ON carillon.audit (tenant, id);
CREATE INDEX audit_subject ON carillon.audit (tenant, subject, id);

-- One row: the version of tenants, types and lanes. Nodes cache these, and reload them when the version has increased.
-- Every change of these tables increases it in the same transaction.
CREATE TABLE carillon.catalog (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version  bigint NOT NULL,
    secret   bytea NOT NULL -- the installation's signing key, for example for the cursors of lists
);

INSERT INTO carillon.catalog (version, secret)
SELECT 1, sha256((gen_random_uuid()::text || gen_random_uuid()::text)::bytea);

-- One row per change of types and lanes by a user's transaction. The effective version is catalog.version plus the
-- number of these rows: adding a row never waits, while only one transaction at a time can update the number. xact_id
-- is the transaction that added the row. Transaction ids start again where a dump is restored, so a row belongs to the
-- current transaction only if it was also added after that transaction began.
CREATE TABLE carillon.catalog_change (
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    xact_id    xid8 NOT NULL DEFAULT pg_current_xact_id()
);

CREATE INDEX catalog_change_xact_id_idx ON carillon.catalog_change (xact_id);

-- Increases the version of the catalog, and folds the rows of catalog_change into it.
CREATE FUNCTION carillon.catalog_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changes bigint;
BEGIN
    -- create_lane has added a row for this transaction, which increases the version when it commits.
    IF EXISTS (SELECT
               FROM carillon.catalog_change c
               WHERE c.xact_id = pg_current_xact_id()
                 AND c.created_at >= transaction_timestamp()) THEN
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

CREATE TRIGGER catalog_changed AFTER INSERT OR UPDATE OR DELETE ON carillon.tenant
    FOR EACH STATEMENT EXECUTE FUNCTION carillon.catalog_changed();
CREATE TRIGGER catalog_changed AFTER INSERT OR UPDATE OR DELETE ON carillon.task_type
    FOR EACH STATEMENT EXECUTE FUNCTION carillon.catalog_changed();

-- The advisory lock of a new type, or of a new lane of it, which its creator holds until the commit: a node that wants
-- to create the same one checks this lock instead of waiting for the row. The upper half names the tenant, so that
-- pg_locks shows what open transactions are creating for a tenant. In the lower half, lanes have the highest bit.
CREATE FUNCTION carillon.creation_lock(tenant int, type text, priority int DEFAULT NULL, slice int DEFAULT NULL,
                                       route text DEFAULT NULL)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT ((1667329280::bigint + tenant) << 32)
           | (hashtextextended(concat_ws('/', 'carillon', tenant, type, priority, slice, route), 0) & 2147483647)
           | CASE WHEN priority IS NULL THEN 0 ELSE 2147483648 END
$$;

-- How many types, lanes, schedules or keys a tenant has, and its limit. Types and lanes that other transactions are
-- creating count as if they were committed: each transaction locks what it creates before it counts, so two concurrent
-- ones cannot exceed the limit together. Nodes wait for each other at the catalog's row and hold shared locks, so a
-- node counts only what users are creating.
CREATE FUNCTION carillon.tenant_usage(of_tenant int, kind text, by_node boolean, OUT used int, OUT max_allowed int)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Read first, in a statement of its own: a transaction that ends later is counted by its lock, one that has ended
    -- by its rows.
    in_creation bigint[] := CASE WHEN kind IN ('types', 'lanes') THEN ARRAY(
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
    INTO max_allowed
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
            IF used + cardinality(in_creation) > max_allowed THEN -- only then subtract those that are rows already
                used := used + (SELECT count(*)
                                FROM (SELECT unnest(in_creation)
                                      EXCEPT
                                      SELECT carillon.creation_lock(y.tenant, y.name)
                                      FROM carillon.task_type y
                                      WHERE y.tenant = of_tenant) m);
            END IF;
        WHEN 'lanes' THEN
            SELECT count(*) INTO used FROM carillon.lane n WHERE n.tenant = of_tenant;
            IF used + cardinality(in_creation) > max_allowed THEN
                used := used + (SELECT count(*)
                                FROM (SELECT unnest(in_creation)
                                      EXCEPT
                                      SELECT carillon.creation_lock(n.tenant, n.type, n.priority, n.slice, n.route)
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

--------------------------------------------------------------------------------------------------------------------
-- Tasks and history: tasks, attempts and transitions, partitioned by UTC day; idempotency and unique keys.
--------------------------------------------------------------------------------------------------------------------

CREATE TYPE carillon.task_state AS ENUM ('PENDING', 'RUNNING', 'COMPLETED', 'DEAD', 'CANCELLED', 'EXPIRED');

-- One row per task, for its whole life. The partition is the day in which it was due when created; the id names it. A
-- claim does not touch the row: while the task runs, it is PENDING as before, and it is written when the attempt ends.
-- The view every_task shows tasks as they are now.
CREATE TABLE carillon.task (
    tenant           int NOT NULL,
    id               uuid NOT NULL,
    partition        date NOT NULL,
    lane             int NOT NULL,
    state            carillon.task_state NOT NULL DEFAULT 'PENDING',
    ready_at         timestamptz, -- as in its row of queue; NULL once it has ended
    due_at           timestamptz NOT NULL,
    created_at       timestamptz NOT NULL,
    version          int NOT NULL DEFAULT 1,
    attempt          int NOT NULL DEFAULT 0, -- ended attempts that count against maxAttempts; a released one does not
    -- Of the last attempt that ended; never goes down. The running or next lease has fence + 1.
    fence            int NOT NULL DEFAULT 0,
    leased_by        text, -- the holder of the last attempt that ended
    lease_until      timestamptz, -- of the running attempt, once renewed; until then claim.lease_until
    started_at       timestamptz, -- of the last attempt that ended
    finished_at      timestamptz,
    expires_at       timestamptz,
    cancel_requested boolean NOT NULL DEFAULT false,
    status           smallint, -- of the last response
    failure          text,
    key              text,
    concurrency_key  text,
    schedule         text,
    payload          text, -- the tenant's JSON byte for byte: never interpreted here
    target           jsonb,
    retry            jsonb,
    metadata         jsonb,
    output           text,
    error            text,
    progress         text,
    crashes          smallint, -- crashes of nodes that it may have caused; NULL: none
    request          text, -- of the last attempt, without secrets
    on_complete      jsonb,
    on_dead          jsonb,
    fire_at          timestamptz, -- the nominal time, if a schedule created it
    PRIMARY KEY (tenant, id, partition),
    CONSTRAINT ready_exactly_while_pending CHECK ((state = 'PENDING') = (ready_at IS NOT NULL) AND state <> 'RUNNING')
) PARTITION BY RANGE (partition);

-- Nothing that an attempt changes is in an index or in a predicate: the end of a task is a HOT update.
CREATE INDEX task_key ON carillon.task (tenant, key) WHERE key IS NOT NULL;

-- One row per waiting task, with what a claim decides by. A claim deletes it; a retry inserts it again. So each PENDING
-- task is either here or listed by a claim: see misplaced_task. A change of a waiting task locks its row in task first,
-- then its row here.
CREATE TABLE carillon.queue (
    ready_at        timestamptz NOT NULL, -- may be claimed from this time on
    expires_at      timestamptz, -- NULL if the task was started before: it can no longer expire
    id              uuid NOT NULL,
    lane            int NOT NULL,
    partition       date NOT NULL,
    attempt         int NOT NULL DEFAULT 0, -- this and the next as in task
    fence           int NOT NULL DEFAULT 0,
    payload_bytes   int NOT NULL DEFAULT 0,
    crashes         smallint,
    concurrency_key text
) PARTITION BY RANGE (partition);

-- With the id, so that the row of one task is found at once in a burst that is due at one instant.
CREATE INDEX queue_ready ON carillon.queue (lane, ready_at, id);
CREATE INDEX queue_expiry ON carillon.queue (expires_at) WHERE expires_at IS NOT NULL;

-- One row per attempt that was followed by another one. The last attempt is on the row of its task.
CREATE TABLE carillon.attempt (
    tenant     int NOT NULL,
    task       uuid NOT NULL,
    partition  date NOT NULL,
    attempt    int NOT NULL,
    fence      int NOT NULL,
    leased_by  text,
    started_at timestamptz,
    ended_at   timestamptz NOT NULL,
    outcome    text NOT NULL,
    failure    text,
    status     smallint,
    error      text,
    output     text,
    request    text
) PARTITION BY RANGE (partition);

-- With the fence, which rises with time: a page of a long history is one index range scan.
CREATE INDEX attempt_task ON carillon.attempt (tenant, task, fence);

-- One row per change of state, except those that the rows of task and claim record: see every_transition.
CREATE TABLE carillon.transition (
    tenant     int NOT NULL,
    task       uuid NOT NULL,
    partition  date NOT NULL,
    at         timestamptz NOT NULL,
    from_state carillon.task_state NOT NULL,
    to_state   carillon.task_state NOT NULL,
    fence      int NOT NULL,
    who        text NOT NULL,
    reason     text
) PARTITION BY RANGE (partition);

CREATE INDEX transition_task ON carillon.transition (tenant, task, fence, at);

-- One row per day that has partitions. Days far ahead share those of the first day: see docs/decisions/0034.
CREATE TABLE carillon.partition (
    day      date PRIMARY KEY,
    opens_at timestamptz NOT NULL, -- nothing in it can be claimed before: polls skip it until then
    last_day date, -- the last of the days that share it; NULL: it is for one day
    restored boolean NOT NULL DEFAULT false -- created for tasks of an archive: the number of these days is limited
);

-- One row: the storage settings of new partitions, vacuum_* of task and queue, the others of task only. Change them
-- with an UPDATE; existing partitions keep theirs. The limits are those of PostgreSQL, so that a wrong value fails here
-- and not on the next day.
CREATE TABLE carillon.partition_settings (
    only_row             boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    -- A page has room for the two versions of a row with a small payload: created and finished. While an old snapshot
    -- is open, the space of a version is not reused, and a version on another page needs new index entries.
    table_fillfactor     int NOT NULL DEFAULT 50 CHECK (table_fillfactor BETWEEN 10 AND 100),
    -- Autovacuum starts after a number of changes rather than a share of the table.
    vacuum_threshold     int NOT NULL DEFAULT 20000 CHECK (vacuum_threshold >= 0),
    vacuum_scale_factor  real NOT NULL DEFAULT 0.02 CHECK (vacuum_scale_factor BETWEEN 0 AND 100),
    analyze_scale_factor real NOT NULL DEFAULT 0.05 CHECK (analyze_scale_factor BETWEEN 0 AND 100)
);

INSERT INTO carillon.partition_settings DEFAULT VALUES;

-- Creates the partitions of a day once, however many sessions ask for it at the same time.
CREATE FUNCTION carillon.create_partition(new_day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    suffix   text := to_char(new_day, 'YYYYMMDD');
    parent   text;
    settings record;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('carillon.create_partition'));
    IF EXISTS (SELECT FROM carillon.partition WHERE day = new_day) THEN
        RETURN;
    END IF;
    FOREACH parent IN ARRAY ARRAY['task', 'queue', 'attempt', 'transition'] LOOP
        -- Created separately and then attached: CREATE ... PARTITION OF would lock the parent against every reader.
        EXECUTE format('CREATE TABLE carillon.%I (LIKE carillon.%I INCLUDING ALL)', parent || '_' || suffix, parent);
        EXECUTE format('ALTER TABLE carillon.%I ATTACH PARTITION carillon.%I FOR VALUES FROM (%L) TO (%L)',
                       parent, parent || '_' || suffix, new_day, new_day + 1);
    END LOOP;
    SELECT * INTO STRICT settings FROM carillon.partition_settings;
    EXECUTE format('ALTER TABLE carillon.%I SET (fillfactor = %s, autovacuum_vacuum_scale_factor = %s,'
                   ' autovacuum_vacuum_threshold = %s, autovacuum_analyze_scale_factor = %s)',
                   'task_' || suffix, settings.table_fillfactor, settings.vacuum_scale_factor,
                   settings.vacuum_threshold, settings.analyze_scale_factor);
    -- Rows come and go with every task. To return empty pages to the system, vacuum would lock out every claim.
    EXECUTE format('ALTER TABLE carillon.%I SET (vacuum_truncate = off, autovacuum_vacuum_scale_factor = %s,'
                   ' autovacuum_vacuum_threshold = %s)',
                   'queue_' || suffix, settings.vacuum_scale_factor, settings.vacuum_threshold);
    PERFORM carillon.create_views('_' || suffix);
    INSERT INTO carillon.partition (day, opens_at) VALUES (new_day, new_day::timestamp AT TIME ZONE 'UTC');
END
$$;

-- One row per Idempotency-Key: its stored response, for 24 hours.
CREATE TABLE carillon.reply (
    tenant      int NOT NULL,
    key         text NOT NULL,
    fingerprint bytea NOT NULL,
    status      smallint NOT NULL DEFAULT 0,
    location    text,
    body        text,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, key)
);

CREATE INDEX reply_age ON carillon.reply (created_at);

-- One row per type and key of unique tasks: the newest of them. The lock on the row decides races.
CREATE TABLE carillon.unique_task (
    tenant     int NOT NULL,
    type       text NOT NULL,
    key        text NOT NULL,
    task       uuid NOT NULL,
    held_until timestamptz NOT NULL,
    PRIMARY KEY (tenant, type, key)
);

CREATE INDEX unique_task_age ON carillon.unique_task (held_until);

--------------------------------------------------------------------------------------------------------------------
-- Cluster: nodes, the leader and the shards.
--------------------------------------------------------------------------------------------------------------------

-- One row per start of a node, kept for a while after its end. The node's lease covers everything that it has claimed.
CREATE TABLE carillon.node (
    id               text PRIMARY KEY, -- new at every start
    label            text NOT NULL,
    roles            text[] NOT NULL,
    version          text NOT NULL,
    started_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until      timestamptz NOT NULL,
    suspects         uuid[] NOT NULL DEFAULT '{}', -- started here in small groups, because a node died running them
    ending           text CHECK (ending IN ('LEFT', 'CUT_OFF')), -- NULL: it is alive, or it died
    address          text, -- the URL of its API, shown to operators
    draining         boolean NOT NULL DEFAULT false, -- it is stopping: it gets no shards
    renewed_at       timestamptz NOT NULL DEFAULT now(),
    clock_offset_us  bigint, -- the database's clock minus the node's; NULL before the first heartbeat
    in_flight        int NOT NULL DEFAULT 0,
    seats            int NOT NULL DEFAULT 0,
    lag_ms           bigint NOT NULL DEFAULT 0, -- how long the first due task of its lanes has waited
    claimed          bigint NOT NULL DEFAULT 0, -- tasks since its start
    ended            bigint NOT NULL DEFAULT 0, -- tasks since its start
    suspects_waiting int NOT NULL DEFAULT 0,
    suspects_running int NOT NULL DEFAULT 0
);

-- One row, for which nodes compete. The term rises with every change of the leader and never falls.
CREATE TABLE carillon.leadership (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    term        bigint NOT NULL,
    node        text, -- NULL: no node has led yet, or the last leader resigned
    since       timestamptz,
    lease_until timestamptz NOT NULL
);

INSERT INTO carillon.leadership (term, lease_until) VALUES (0, '-infinity');

-- Returns whether this is the current term, and keeps it so until the transaction ends, because a takeover waits for
-- that. A leader that freezes meanwhile must not delay the takeover, so its session ends after 2 s of idleness.
CREATE FUNCTION carillon.leads(my_term bigint, my_node text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM set_config('idle_in_transaction_session_timeout', '2s', true);
    PERFORM pg_advisory_xact_lock_shared(hashtext('carillon.leadership'));
    -- A statement of its own, so that it sees what was committed while we waited.
    RETURN EXISTS (SELECT FROM carillon.leadership WHERE term = my_term AND node = my_node);
END
$$;

-- One row per shard: the lanes whose id modulo the number of shards is its id. The leader assigns it to a node.
CREATE TABLE carillon.shard (
    id       smallint PRIMARY KEY,
    node     text, -- NULL: not assigned
    term     bigint NOT NULL DEFAULT 0, -- of the leader that wrote it
    moved_at timestamptz
);

INSERT INTO carillon.shard (id) SELECT generate_series(0, 63);

--------------------------------------------------------------------------------------------------------------------
-- Queue and claims: lanes, what each claim took, and concurrency keys in use.
--------------------------------------------------------------------------------------------------------------------

-- One row per lane: the queue of one tenant, type, priority, slice and route. Rows are never changed or removed,
-- because finished tasks refer to them.
CREATE TABLE carillon.lane (
    id       int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant   int NOT NULL REFERENCES carillon.tenant (id),
    type     text NOT NULL,
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    slice    smallint NOT NULL CHECK (slice >= 0),
    route    text NOT NULL
        CHECK (route ~ '^(TYPE|PUSH|PULL|(PUBLISH|REPORT):(kafka|rabbitmq)/[a-z0-9][a-z0-9-]{0,39})$'),
    UNIQUE (tenant, type, priority, slice, route)
);

CREATE TRIGGER catalog_changed AFTER INSERT OR UPDATE OR DELETE ON carillon.lane
    FOR EACH STATEMENT EXECUTE FUNCTION carillon.catalog_changed();

-- One row per claim, with the tasks that it took: the only record that they run. Tasks that have ended meanwhile have at
-- least the fence that is listed here.
CREATE TABLE carillon.claim (
    id          uuid PRIMARY KEY,
    -- No foreign key: every claim would lock its node's row, and concurrent ones would use up MultiXact ids. The reaper
    -- also finds claims of nodes without a row.
    node        text,
    leased_by   text NOT NULL, -- the node, worker or broker, as it is shown
    started_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until timestamptz, -- of a worker's claim: for each task whose row has no later one
    check_at    timestamptz, -- of a worker's claim: when the reaper checks it next
    partition   date NOT NULL,
    tenants     int[] NOT NULL,
    tasks       uuid[] NOT NULL,
    fences      int[] NOT NULL,
    CONSTRAINT held_by_node_or_until CHECK ((node IS NULL) <> (lease_until IS NULL)),
    CONSTRAINT checked_if_leased CHECK ((lease_until IS NULL) = (check_at IS NULL)),
    -- The reaper would not see a task without a fence.
    CONSTRAINT complete_lists CHECK (cardinality(tenants) = cardinality(tasks)
                                     AND cardinality(tasks) = cardinality(fences))
);

-- Ids of a batch hardly compress, and trying costs every claim. CREATE TABLE takes STORAGE only from PostgreSQL 16 on.
ALTER TABLE carillon.claim
    ALTER COLUMN tenants SET STORAGE EXTERNAL,
    ALTER COLUMN tasks SET STORAGE EXTERNAL,
    ALTER COLUMN fences SET STORAGE EXTERNAL;

-- Rows come and go with every claim. To return empty pages to the system, vacuum would lock out claims and ends.
ALTER TABLE carillon.claim SET (vacuum_truncate = off, toast.vacuum_truncate = off);

CREATE INDEX claim_node ON carillon.claim (node) WHERE node IS NOT NULL;
CREATE INDEX claim_check ON carillon.claim (check_at) WHERE check_at IS NOT NULL;

-- One row per concurrency key in use: inserted by the claim, removed when the claim ends.
CREATE TABLE carillon.running_key (
    tenant int NOT NULL,
    type   text NOT NULL,
    key    text NOT NULL,
    task   uuid NOT NULL,
    PRIMARY KEY (tenant, type, key)
) WITH (vacuum_truncate = off); -- as for claim

--------------------------------------------------------------------------------------------------------------------
-- Views: tasks and their history as the API shows them.
--------------------------------------------------------------------------------------------------------------------

-- Creates the views every_task and every_transition: over all partitions with the suffix '', over one with its suffix.
-- Statements about one task read those of its partition: through the parents they would lock every partition.
--
-- every_task has each task as it is now: RUNNING if a claim holds it, with the holder of that claim, and without what
-- the row says of an earlier attempt. A task with a row in queue is not looked for among the claims.
--
-- every_transition has each change of state. The claim of a RUNNING or COMPLETED task and its completion by the holder
-- are not in transition: see docs/decisions/0016.
CREATE FUNCTION carillon.create_views(suffix text) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    EXECUTE replace($view$
        CREATE VIEW carillon.every_task{suffix} AS
        SELECT t.tenant, t.id, t.partition, t.lane,
               CASE WHEN c.id IS NULL THEN t.state ELSE 'RUNNING' END AS state,
               CASE WHEN c.id IS NULL THEN t.ready_at END AS ready_at,
               t.due_at, t.created_at,
               CASE WHEN c.id IS NULL THEN t.version ELSE t.version + 1 END AS version,
               CASE WHEN c.id IS NULL THEN t.attempt ELSE t.attempt + 1 END AS attempt,
               CASE WHEN c.id IS NULL THEN t.fence ELSE t.fence + 1 END AS fence,
               c.id AS claim,
               CASE WHEN c.id IS NULL THEN t.leased_by ELSE c.leased_by END AS leased_by,
               CASE WHEN c.id IS NOT NULL THEN coalesce(t.lease_until, c.lease_until) END AS lease_until,
               CASE WHEN c.id IS NULL THEN t.started_at ELSE c.started_at END AS started_at,
               t.finished_at, t.expires_at, t.cancel_requested,
               CASE WHEN c.id IS NULL THEN t.status END AS status,
               CASE WHEN c.id IS NULL THEN t.failure END AS failure,
               t.key, t.concurrency_key, t.schedule, t.payload, t.target, t.retry, t.metadata,
               CASE WHEN c.id IS NULL THEN t.output END AS output,
               CASE WHEN c.id IS NULL THEN t.error END AS error,
               t.progress, t.crashes,
               CASE WHEN c.id IS NULL THEN t.request END AS request,
               t.on_complete, t.on_dead, t.fire_at
        FROM carillon.task{suffix} t
        LEFT JOIN LATERAL (
            SELECT c.id, c.leased_by, c.started_at, c.lease_until
            FROM carillon.claim c
            WHERE t.state = 'PENDING'
              AND NOT EXISTS (
                  SELECT
                  FROM carillon.queue{suffix} q
                  WHERE q.partition = t.partition
                    AND q.lane = t.lane
                    AND q.ready_at = t.ready_at
                    AND q.id = t.id)
              AND c.partition = t.partition
              AND CASE -- in this order: few claims list the task, and unnesting a claim costs much more
                  WHEN t.id = ANY (c.tasks) THEN EXISTS ( -- not for another tenant, and not for an earlier attempt
                      SELECT
                      FROM unnest(c.tenants, c.tasks, c.fences) AS h (tenant, id, fence)
                      WHERE h.tenant = t.tenant
                        AND h.id = t.id
                        AND h.fence = t.fence + 1)
                  END
            LIMIT 1
        ) c ON true
    $view$, '{suffix}', suffix);
    EXECUTE replace($view$
        CREATE VIEW carillon.every_transition{suffix} AS
        SELECT tenant, task, partition, at, from_state, to_state, fence, who, reason
        FROM carillon.transition{suffix}
        UNION ALL
        SELECT t.tenant, t.id, t.partition, t.started_at, 'PENDING', 'RUNNING', t.fence, t.leased_by, NULL
        FROM carillon.every_task{suffix} t
        WHERE t.state IN ('RUNNING', 'COMPLETED')
        UNION ALL
        SELECT t.tenant, t.id, t.partition, t.finished_at, 'RUNNING', 'COMPLETED', t.fence, t.leased_by, NULL
        FROM carillon.task{suffix} t
        WHERE t.state = 'COMPLETED'
          AND NOT EXISTS ( -- if someone other than the holder completed it, transition has a row with the name
              SELECT FROM carillon.transition{suffix} w
              WHERE w.tenant = t.tenant
                AND w.task = t.id
                AND w.partition = t.partition
                AND w.fence = t.fence
                AND w.to_state = 'COMPLETED')
    $view$, '{suffix}', suffix);
END
$function$;

SELECT carillon.create_views('');

-- Must be empty: PENDING tasks that are not in exactly one of queue and the claims, ended tasks that are in one of
-- them, rows of queue that differ from their task, and rows of queue without a task. No constraint can enforce this.
-- Reads all tasks.
CREATE VIEW carillon.misplaced_task AS
WITH queued AS (
    SELECT l.tenant, q.id, q.partition, count(*) AS queue_rows, (array_agg(q))[1] AS row
    FROM carillon.queue q
    LEFT JOIN carillon.lane l ON l.id = q.lane
    GROUP BY l.tenant, q.id, q.partition
), held AS (
    SELECT h.tenant, h.id, c.partition, h.fence, count(*) AS claims
    FROM carillon.claim c
    CROSS JOIN LATERAL unnest(c.tenants, c.tasks, c.fences) AS h (tenant, id, fence)
    GROUP BY h.tenant, h.id, c.partition, h.fence
)
SELECT t.tenant, t.id, t.partition, t.state, coalesce(q.queue_rows, 0) AS queue_rows, coalesce(h.claims, 0) AS claims
FROM carillon.task t
LEFT JOIN queued q ON q.tenant = t.tenant AND q.id = t.id AND q.partition = t.partition
LEFT JOIN held h ON h.tenant = t.tenant AND h.id = t.id AND h.partition = t.partition AND h.fence = t.fence + 1
WHERE CASE WHEN t.state = 'PENDING' THEN coalesce(q.queue_rows, 0) + coalesce(h.claims, 0) <> 1
           ELSE coalesce(q.queue_rows, 0) + coalesce(h.claims, 0) > 0 END
   OR (q.queue_rows = 1
       AND ((q.row).lane, (q.row).ready_at, (q.row).attempt, (q.row).fence, (q.row).crashes, (q.row).concurrency_key,
            (q.row).payload_bytes, (q.row).expires_at)
           IS DISTINCT FROM
           (t.lane, t.ready_at, t.attempt, t.fence, t.crashes, t.concurrency_key, coalesce(octet_length(t.payload), 0),
            CASE WHEN t.attempt = 0 THEN t.expires_at END))
UNION ALL
SELECT q.tenant, q.id, q.partition, NULL, q.queue_rows, 0
FROM queued q
WHERE NOT EXISTS (
    SELECT FROM carillon.task t WHERE t.tenant = q.tenant AND t.id = q.id AND t.partition = q.partition);

--------------------------------------------------------------------------------------------------------------------
-- Dead letters: dead tasks, the groups they are counted in, and redrives.
--------------------------------------------------------------------------------------------------------------------

-- The hash that groups errors: by type, failure, status and error, without numbers, ids and quoted names.
CREATE FUNCTION carillon.fingerprint(type text, failure text, status smallint, error text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN left(md5(type || ' ' || coalesce(failure, '') || ' ' || coalesce(status::text, '') || ' '
                    || regexp_replace(left(coalesce(error, ''), 500),
                                      '[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|0x[0-9a-fA-F]+|[0-9]+|"[^"]*"|''[^'']*''',
                                      '#', 'g')), 16);

-- One row per dead task, written and removed with its change of state: it finds them without an index on state.
CREATE TABLE carillon.dead_letter (
    tenant      int NOT NULL,
    task        uuid NOT NULL,
    partition   date NOT NULL,
    type        text NOT NULL,
    died_at     timestamptz NOT NULL,
    error       text,
    failure     text,
    status      smallint,
    key         text,
    kept_from   timestamptz NOT NULL DEFAULT clock_timestamp(), -- start of the time to live; set again by a restore
    fingerprint text NOT NULL GENERATED ALWAYS AS (carillon.fingerprint(type, failure, status, error)) STORED,
    PRIMARY KEY (tenant, task)
);

CREATE INDEX dead_letter_age ON carillon.dead_letter (tenant, died_at, task);
CREATE INDEX dead_letter_type ON carillon.dead_letter (tenant, type, died_at, task);
CREATE INDEX dead_letter_fingerprint ON carillon.dead_letter (tenant, type, fingerprint, died_at, task);
CREATE INDEX dead_letter_key ON carillon.dead_letter (tenant, key, died_at, task) WHERE key IS NOT NULL;
CREATE INDEX dead_letter_oldest ON carillon.dead_letter (kept_from);

-- One row per group: dead letters of one type and fingerprint. Triggers count them, so that no request has to.
CREATE TABLE carillon.dead_letter_group (
    tenant      int NOT NULL,
    type        text NOT NULL,
    fingerprint text NOT NULL,
    failure     text,
    status      smallint,
    error       text, -- of one of the newest
    letters     bigint NOT NULL, -- now
    deaths      bigint NOT NULL, -- ever
    first_at    timestamptz NOT NULL,
    last_at     timestamptz NOT NULL,
    alerted_at  timestamptz, -- when the last alert was created
    alert_until timestamptz, -- no alert before then; every death postpones it
    PRIMARY KEY (tenant, type, fingerprint)
);

CREATE INDEX dead_letter_group_last ON carillon.dead_letter_group (tenant, last_at, type, fingerprint)
    WHERE letters > 0;
CREATE INDEX dead_letter_group_empty ON carillon.dead_letter_group (last_at) WHERE letters = 0;

CREATE FUNCTION carillon.dead_letters_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO carillon.dead_letter_group AS g (
        tenant, type, fingerprint, failure, status, error, letters, deaths, first_at, last_at)
    SELECT tenant, type, fingerprint, min(failure), min(status), max(error), count(*), count(*), min(died_at),
           max(died_at)
    FROM added
    GROUP BY tenant, type, fingerprint
    ORDER BY tenant, type, fingerprint -- always in this order, so that two transactions cannot deadlock
    ON CONFLICT (tenant, type, fingerprint) DO UPDATE
    SET error = excluded.error,
        letters = g.letters + excluded.letters,
        deaths = g.deaths + excluded.deaths,
        first_at = least(g.first_at, excluded.first_at),
        last_at = greatest(g.last_at, excluded.last_at);
    RETURN NULL;
END
$$;

CREATE FUNCTION carillon.dead_letters_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH gone AS (
        SELECT tenant, type, fingerprint, count(*) AS letters
        FROM removed
        GROUP BY tenant, type, fingerprint
    ), locked AS MATERIALIZED (
        SELECT g.tenant, g.type, g.fingerprint, gone.letters
        FROM gone
        JOIN carillon.dead_letter_group g USING (tenant, type, fingerprint)
        ORDER BY g.tenant, g.type, g.fingerprint
        FOR UPDATE OF g
    )
    UPDATE carillon.dead_letter_group g
    SET letters = g.letters - locked.letters
    FROM locked
    WHERE g.tenant = locked.tenant
      AND g.type = locked.type
      AND g.fingerprint = locked.fingerprint;
    RETURN NULL;
END
$$;

CREATE TRIGGER dead_letters_added AFTER INSERT ON carillon.dead_letter
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION carillon.dead_letters_added();
CREATE TRIGGER dead_letters_removed AFTER DELETE ON carillon.dead_letter
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION carillon.dead_letters_removed();

-- One row per bulk redrive: its filter, its rate and its progress. The leader takes the steps.
CREATE TABLE carillon.redrive (
    id         uuid PRIMARY KEY,
    tenant     int NOT NULL REFERENCES carillon.tenant (id),
    state      text NOT NULL CHECK (state IN ('RUNNING', 'DONE', 'STOPPED', 'UNDOING', 'UNDONE')),
    filter     jsonb NOT NULL, -- of a filter by ids, only their number
    ids        uuid[] NOT NULL, -- of tasks; a column of their own, so that a list of redrives does not read them
    rate       int, -- per second; NULL: as fast as possible
    who        text NOT NULL,
    created_at timestamptz NOT NULL, -- tasks that die later are not redriven
    ended_at   timestamptz,
    matched    bigint NOT NULL,
    at_least   boolean NOT NULL, -- matched is a lower bound
    redriven   bigint NOT NULL DEFAULT 0,
    refused    bigint NOT NULL DEFAULT 0, -- dead letters that could not be redriven, and stay
    undone     bigint NOT NULL DEFAULT 0,
    after_at   timestamptz, -- the position among the dead letters, by age
    after_task uuid,
    steps      bigint NOT NULL DEFAULT 0, -- of a redrive with a rate
    stepped_at timestamptz, -- its last step, whether or not it failed
    undone_by  text
);

CREATE INDEX redrive_open ON carillon.redrive (stepped_at NULLS FIRST, created_at) WHERE ended_at IS NULL;
CREATE INDEX redrive_open_tenant ON carillon.redrive (tenant) WHERE ended_at IS NULL;
CREATE INDEX redrive_ended ON carillon.redrive (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX redrive_tenant ON carillon.redrive (tenant, created_at, id);

-- One row per task of a redrive, with what an undo needs.
CREATE TABLE carillon.redriven (
    redrive     uuid NOT NULL REFERENCES carillon.redrive (id) ON DELETE CASCADE,
    n           bigint NOT NULL, -- counts from 1; the last ones are the most likely not to have started yet
    tenant      int NOT NULL,
    task        uuid NOT NULL,
    partition   date NOT NULL,
    fence       int NOT NULL, -- at the redrive: a task that has run since has a higher one
    attempt     int NOT NULL,
    crashes     smallint,
    due_at      timestamptz NOT NULL,
    expires_at  timestamptz,
    finished_at timestamptz,
    died_at     timestamptz NOT NULL,
    kept_from   timestamptz NOT NULL,
    PRIMARY KEY (redrive, n)
);

--------------------------------------------------------------------------------------------------------------------
-- Schedules: schedules, their fires, and backfills.
--------------------------------------------------------------------------------------------------------------------

-- One row per schedule: its rule, the template of its tasks, and how far it is planned.
CREATE TABLE carillon.schedule (
    id                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant               int NOT NULL REFERENCES carillon.tenant (id),
    name                 text NOT NULL CHECK (name ~ '^[A-Za-z0-9_.-]{1,100}$'),
    cron                 text,
    every_ms             bigint,
    timezone             text NOT NULL,
    dst_gap              text NOT NULL CHECK (dst_gap IN ('SKIP', 'SHIFT')),
    dst_overlap          text NOT NULL CHECK (dst_overlap IN ('FIRST', 'LAST', 'BOTH')),
    overlap              text NOT NULL CHECK (overlap IN ('SKIP', 'ALLOW', 'QUEUE', 'CANCEL_PREVIOUS')),
    catch_up             text NOT NULL CHECK (catch_up IN ('NONE', 'LAST', 'ALL')),
    catch_up_limit       int NOT NULL,
    catch_up_window_ms   bigint NOT NULL,
    jitter_ms            bigint NOT NULL,
    start_at             timestamptz,
    end_at               timestamptz,
    max_runs             int,
    pause_after_failures int,
    type                 text NOT NULL,
    key                  text,
    priority             smallint CHECK (priority BETWEEN 0 AND 9),
    payload              text, -- the tenant's JSON byte for byte
    target               jsonb,
    retry                jsonb,
    paused               boolean NOT NULL DEFAULT false,
    paused_reason        text,
    paused_by            text,
    paused_at            timestamptz,
    version              int NOT NULL DEFAULT 1,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    anchor               timestamptz NOT NULL, -- intervals count from here
    generation           int NOT NULL DEFAULT 1, -- part of the ids of its tasks; rises when planned fires are withdrawn
    cursor               timestamptz NOT NULL, -- every nominal time up to and including it has its fire
    plan_at              timestamptz, -- when the planner next plans it; NULL: never
    runs                 bigint NOT NULL DEFAULT 0, -- nominal times that became tasks
    completed            bigint NOT NULL DEFAULT 0,
    failed               bigint NOT NULL DEFAULT 0,
    cancelled            bigint NOT NULL DEFAULT 0,
    failures_in_a_row    int NOT NULL DEFAULT 0,
    skipped_overlap      bigint NOT NULL DEFAULT 0,
    skipped_paused       bigint NOT NULL DEFAULT 0,
    skipped_window       bigint NOT NULL DEFAULT 0,
    skipped_dst_gap      bigint NOT NULL DEFAULT 0,
    skipped_ended        bigint NOT NULL DEFAULT 0,
    UNIQUE (tenant, name),
    CONSTRAINT cron_or_every CHECK ((cron IS NULL) <> (every_ms IS NULL))
);

-- The planner reads the due end of this index only: idle schedules cost a pass nothing.
CREATE INDEX schedule_plan ON carillon.schedule (plan_at) WHERE plan_at IS NOT NULL;
CREATE INDEX schedule_type ON carillon.schedule (tenant, type);

-- One row per nominal time that is past or planned: it is decided exactly once, whichever node plans it.
-- The fires of a deleted schedule are left to the janitor.
CREATE TABLE carillon.schedule_fire (
    schedule    bigint NOT NULL,
    at          timestamptz NOT NULL,
    local       timestamp NOT NULL, -- the same time on a clock in the schedule's zone
    shift       text NOT NULL, -- what a daylight saving change did to it
    kind        text NOT NULL CHECK (kind IN ('SCHEDULED', 'TRIGGER', 'BACKFILL')),
    skipped     text, -- why it has no task
    task        uuid,
    partition   date,
    outcome     text, -- how its task ended, once the planner has checked
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (schedule, at, local),
    CONSTRAINT task_or_skipped CHECK ((task IS NULL) <> (skipped IS NULL) AND (task IS NULL) = (partition IS NULL))
);

-- Fires whose task may not have ended. Those of backfills have an index of their own: there may be very many, and no
-- overlap rule waits for them.
CREATE INDEX schedule_fire_open ON carillon.schedule_fire (schedule, at)
    WHERE task IS NOT NULL AND outcome IS NULL AND kind <> 'BACKFILL';
CREATE INDEX schedule_fire_backfilled ON carillon.schedule_fire (schedule, at)
    WHERE task IS NOT NULL AND outcome IS NULL AND kind = 'BACKFILL';
CREATE INDEX schedule_fire_age ON carillon.schedule_fire (recorded_at);

-- One row per backfill: past nominal times that become tasks after all. Only the holder of the row's lock takes a step.
CREATE TABLE carillon.backfill (
    id          uuid PRIMARY KEY,
    tenant      int NOT NULL REFERENCES carillon.tenant (id),
    schedule    bigint NOT NULL,
    name        text NOT NULL, -- of the schedule, which may have been deleted since
    state       text NOT NULL CHECK (state IN ('RUNNING', 'DONE', 'STOPPED')),
    from_at     timestamptz NOT NULL,
    to_at       timestamptz NOT NULL,
    overlap     text NOT NULL CHECK (overlap IN ('ALLOW', 'QUEUE')),
    times       int NOT NULL, -- nominal times from from_at to to_at
    created     int NOT NULL DEFAULT 0, -- of these, became tasks
    existing    int NOT NULL DEFAULT 0, -- of these, had a task already
    skipped     int NOT NULL DEFAULT 0, -- of these, do not exist because of a daylight saving change
    cursor      timestamptz NOT NULL, -- all up to and including it are done
    due_at      timestamptz NOT NULL, -- its next task is not due before this, so that its tasks run in order
    stepped_at  timestamptz, -- its last step
    created_at  timestamptz NOT NULL,
    created_by  text NOT NULL,
    finished_at timestamptz
);

CREATE INDEX backfill_open ON carillon.backfill (stepped_at NULLS FIRST, created_at) WHERE state = 'RUNNING';
CREATE INDEX backfill_schedule ON carillon.backfill (schedule, created_at, id);
CREATE INDEX backfill_age ON carillon.backfill (finished_at) WHERE finished_at IS NOT NULL;

--------------------------------------------------------------------------------------------------------------------
-- Statistics and events: counts of what happened and of what waits, so that no request counts rows; live events.
--------------------------------------------------------------------------------------------------------------------

-- One row per minute and per hour of each type, of each tenant (type '') and of the installation (tenant 0, type '').
-- Nodes add to it every two seconds.
CREATE TABLE carillon.activity (
    span      smallint NOT NULL CHECK (span IN (1, 60)), -- the minutes that the row covers
    tenant    int NOT NULL,
    type      text NOT NULL,
    at        timestamptz NOT NULL, -- the start of the span
    started   bigint NOT NULL DEFAULT 0,
    completed bigint NOT NULL DEFAULT 0,
    retried   bigint NOT NULL DEFAULT 0,
    dead      bigint NOT NULL DEFAULT 0,
    cancelled bigint NOT NULL DEFAULT 0,
    expired   bigint NOT NULL DEFAULT 0,
    late      bigint[] NOT NULL, -- a histogram of start delays: 14 upper bounds, and a bucket for everything longer
    PRIMARY KEY (span, tenant, type, at)
) WITH (fillfactor = 60); -- each row is updated many times: its next version should fit on the same page

-- For the janitor only. Partial, so that the planner cannot choose them over the primary key for the rows of one type
-- while statistics are old: it would then read the rows of all tenants of that time.
CREATE INDEX activity_minutes ON carillon.activity (at) WHERE span = 1;
CREATE INDEX activity_hours ON carillon.activity (at) WHERE span = 60;

-- One row per lane and day with waiting tasks: their number, including those due later. Only the leader writes it.
CREATE TABLE carillon.waiting (
    lane      int NOT NULL,
    partition date NOT NULL,
    tasks     bigint NOT NULL,
    PRIMARY KEY (lane, partition)
);

CREATE INDEX waiting_partition ON carillon.waiting (partition);

-- One row: the counts in waiting are no older than begun_at.
CREATE TABLE carillon.census (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    begun_at timestamptz
);

INSERT INTO carillon.census DEFAULT VALUES;

-- One row per tenant that a client watches on some node. The row expires at until unless it is renewed. This table and
-- event need not survive a crash, so they are unlogged.
CREATE UNLOGGED TABLE carillon.watch (
    tenant int PRIMARY KEY,
    until  timestamptz NOT NULL
);

-- One row per change of a watched tenant's tasks, kept for half a minute.
CREATE UNLOGGED TABLE carillon.event (
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(), -- ids restart after a crash, times do not
    id         bigint GENERATED ALWAYS AS IDENTITY,
    tenant     int NOT NULL,
    at         timestamptz NOT NULL,
    type       text,
    task       uuid, -- NULL: the row has only the number of changes that were left out
    from_state carillon.task_state, -- NULL: it was created
    to_state   carillon.task_state,
    attempt    int,
    skipped    int NOT NULL DEFAULT 0,
    node       text NOT NULL,
    PRIMARY KEY (written_at, id)
);

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA carillon FROM PUBLIC;
