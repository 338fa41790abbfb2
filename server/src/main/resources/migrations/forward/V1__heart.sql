-- The heart: tenants, types, lanes, slots, and the tasks in them with their history.
-- Every name is qualified, so that nothing depends on a session's search_path.

CREATE TYPE carillon.task_state AS ENUM ('PENDING', 'RUNNING', 'COMPLETED', 'DEAD', 'CANCELLED', 'EXPIRED');

CREATE TABLE carillon.tenant (
    id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    strict     boolean NOT NULL DEFAULT false, -- only configured types may be used
    paused     boolean NOT NULL DEFAULT false,
    weight     int NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

INSERT INTO carillon.tenant (name) VALUES ('default');

CREATE TABLE carillon.task_type (
    tenant                int NOT NULL REFERENCES carillon.tenant (id),
    name                  text NOT NULL CHECK (name ~ '^[A-Za-z0-9_.-]{1,100}$'),
    target                jsonb, -- NULL means pulled by workers
    retry                 jsonb, -- NULL means the default policy
    timeout_ms            bigint NOT NULL DEFAULT 30000,
    lease_timeout_ms      bigint NOT NULL DEFAULT 30000,
    priority              smallint NOT NULL DEFAULT 5 CHECK (priority BETWEEN 0 AND 9),
    slices                smallint NOT NULL DEFAULT 1 CHECK (slices BETWEEN 1 AND 64),
    paused                boolean NOT NULL DEFAULT false,
    paused_reason         text,
    signing_secret        bytea,
    previous_secret       bytea, -- signs beside the new one until previous_secret_until
    previous_secret_until timestamptz,
    version               int NOT NULL DEFAULT 1,
    created_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, name)
);

-- A line of waiting tasks. Rows are never changed or removed: finished tasks still point at them.
CREATE TABLE carillon.lane (
    id       int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant   int NOT NULL REFERENCES carillon.tenant (id),
    type     text NOT NULL,
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    slice    smallint NOT NULL CHECK (slice >= 0),
    route    text NOT NULL CHECK (route IN ('TYPE', 'PUSH', 'PULL')),
    UNIQUE (tenant, type, priority, slice, route)
);

-- One row whose number rises with every change to tenants, types or lanes, in the same transaction:
-- nodes keep those in memory and read them again when the number is new.
CREATE TABLE carillon.catalog (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version  bigint NOT NULL,
    secret   bytea NOT NULL -- the installation's: what nodes sign for one another, such as the cursors of lists
);

INSERT INTO carillon.catalog (version, secret)
SELECT 1, sha256((gen_random_uuid()::text || gen_random_uuid()::text)::bytea);

CREATE FUNCTION carillon.catalog_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE carillon.catalog SET version = version + 1;
    RETURN NULL;
END
$$;

CREATE TRIGGER catalog_changed AFTER INSERT OR UPDATE OR DELETE ON carillon.tenant
    FOR EACH STATEMENT EXECUTE FUNCTION carillon.catalog_changed();
CREATE TRIGGER catalog_changed AFTER INSERT OR UPDATE OR DELETE ON carillon.task_type
    FOR EACH STATEMENT EXECUTE FUNCTION carillon.catalog_changed();
CREATE TRIGGER catalog_changed AFTER INSERT OR UPDATE OR DELETE ON carillon.lane
    FOR EACH STATEMENT EXECUTE FUNCTION carillon.catalog_changed();

-- A task's whole life in one row, partitioned by the day in which it was due when created (its id says which).
CREATE TABLE carillon.task (
    tenant           int NOT NULL,
    id               uuid NOT NULL,
    slot             date NOT NULL,
    lane             int NOT NULL,
    state            carillon.task_state NOT NULL DEFAULT 'PENDING',
    ready_at         timestamptz, -- the queue: may be claimed from then on; NULL whenever it does not wait
    due_at           timestamptz NOT NULL,
    created_at       timestamptz NOT NULL,
    version          int NOT NULL DEFAULT 1,
    attempt          int NOT NULL DEFAULT 0, -- a budget: may be given back
    fence            int NOT NULL DEFAULT 0, -- the lease's number: never goes down
    claim            uuid,
    leased_by        text, -- stays after the end, to say who ran the last attempt
    lease_until      timestamptz, -- NULL while the lease of the node in claim.node covers it
    started_at       timestamptz,
    finished_at      timestamptz,
    expires_at       timestamptz,
    cancel_requested boolean NOT NULL DEFAULT false,
    status           smallint, -- of the last answer on the wire
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
    PRIMARY KEY (tenant, id, slot),
    CONSTRAINT waits_exactly_while_pending CHECK ((state = 'PENDING') = (ready_at IS NOT NULL)),
    CONSTRAINT claimed_exactly_while_running CHECK ((state = 'RUNNING') = (claim IS NOT NULL))
) PARTITION BY RANGE (slot);

-- Holds only what waits, so neither finished nor far-future tasks cost a poll anything. State is in no index and
-- in no predicate: finishing a task is a HOT update.
CREATE INDEX task_queue ON carillon.task (lane, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX task_key ON carillon.task (tenant, key) WHERE key IS NOT NULL;
CREATE INDEX task_expiry ON carillon.task (expires_at)
    WHERE expires_at IS NOT NULL AND ready_at IS NOT NULL AND attempt = 0; -- only what was never started expires

-- Attempts that are over; the last one stands on the task's own row until another follows.
CREATE TABLE carillon.attempt (
    tenant     int NOT NULL,
    task       uuid NOT NULL,
    slot       date NOT NULL,
    attempt    int NOT NULL,
    fence      int NOT NULL,
    leased_by  text,
    started_at timestamptz,
    ended_at   timestamptz NOT NULL,
    outcome    text NOT NULL,
    failure    text,
    status     smallint,
    error      text,
    output     text
) PARTITION BY RANGE (slot);

CREATE INDEX attempt_task ON carillon.attempt (tenant, task);

CREATE TABLE carillon.transition (
    tenant     int NOT NULL,
    task       uuid NOT NULL,
    slot       date NOT NULL,
    at         timestamptz NOT NULL,
    from_state carillon.task_state NOT NULL,
    to_state   carillon.task_state NOT NULL,
    fence      int NOT NULL,
    who        text NOT NULL,
    reason     text
) PARTITION BY RANGE (slot);

CREATE INDEX transition_task ON carillon.transition (tenant, task);

-- The slots that exist.
CREATE TABLE carillon.slot (
    day      date PRIMARY KEY,
    opens_at timestamptz NOT NULL -- nothing in it is to be claimed before: polls leave it alone until then
);

-- Makes the partitions of a day, once, however many ask at the same time.
CREATE FUNCTION carillon.make_slot(new_day date) RETURNS void LANGUAGE plpgsql AS $$
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

-- A program while it runs; its lease covers everything that it has claimed.
CREATE TABLE carillon.node (
    id          text PRIMARY KEY, -- new at every start
    label       text NOT NULL,
    roles       text[] NOT NULL,
    version     text NOT NULL,
    started_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until timestamptz NOT NULL
);

-- What one claim took, so that the tasks of a silent owner are found without an index on RUNNING.
CREATE TABLE carillon.claim (
    id          uuid PRIMARY KEY,
    -- The key keeps a node's row as long as it has claims: a claim can never be left without an owner to reap.
    node        text REFERENCES carillon.node (id),
    lease_until timestamptz, -- of workers that pull: look again then
    slot        date NOT NULL,
    tenants     int[] NOT NULL,
    tasks       uuid[] NOT NULL,
    CONSTRAINT held_by_node_or_until CHECK ((node IS NULL) <> (lease_until IS NULL))
);

CREATE INDEX claim_node ON carillon.claim (node) WHERE node IS NOT NULL;
CREATE INDEX claim_lease ON carillon.claim (lease_until) WHERE lease_until IS NOT NULL;

-- The concurrency keys that are taken now: inserted by the claim, removed by whatever ends it.
CREATE TABLE carillon.running_key (
    tenant int NOT NULL,
    type   text NOT NULL,
    key    text NOT NULL,
    task   uuid NOT NULL,
    PRIMARY KEY (tenant, type, key)
);

-- Dead tasks, found without an index on state. Written and removed with the state change itself.
CREATE TABLE carillon.dead_letter (
    tenant  int NOT NULL,
    task    uuid NOT NULL,
    slot    date NOT NULL,
    type    text NOT NULL,
    died_at timestamptz NOT NULL,
    error   text,
    PRIMARY KEY (tenant, task)
);

CREATE INDEX dead_letter_age ON carillon.dead_letter (tenant, died_at, task);
CREATE INDEX dead_letter_type ON carillon.dead_letter (tenant, type, died_at, task);

-- Answers to repeat, for 24 hours.
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

-- The newest task that was asked for as unique, per type and key; its row lock decides races.
CREATE TABLE carillon.unique_task (
    tenant     int NOT NULL,
    type       text NOT NULL,
    key        text NOT NULL,
    task       uuid NOT NULL,
    held_until timestamptz NOT NULL,
    PRIMARY KEY (tenant, type, key)
);

CREATE INDEX unique_task_age ON carillon.unique_task (held_until);

CREATE TABLE carillon.api_key (
    id         text PRIMARY KEY,
    tenant     int NOT NULL REFERENCES carillon.tenant (id),
    name       text NOT NULL,
    role       text NOT NULL,
    types      text[] NOT NULL DEFAULT '{}', -- empty means all
    hash       bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz
);

CREATE INDEX api_key_tenant ON carillon.api_key (tenant, id);

-- What operators did; written in the transaction that did it.
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
