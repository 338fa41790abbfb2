-- What fails: rules of types, crashes, what was sent, groups of dead letters, redrives that take a while, callbacks, alerts.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

ALTER TABLE carillon.task_type
    ADD COLUMN status_rules jsonb, -- which answers are success, worth another try, or dead; NULL means the usual
    ADD COLUMN schema       text,  -- JSON Schema of the payload, byte for byte
    ADD COLUMN on_complete  jsonb, -- a target that is told of each task that completed
    ADD COLUMN on_dead      jsonb; -- the same of each that died

ALTER TABLE carillon.tenant
    ADD COLUMN alert jsonb; -- where to say that a group of dead letters grows, and from when on

-- The tasks that this node has begun to run apart from the others, because a node died while it ran them.
ALTER TABLE carillon.node
    ADD COLUMN suspects uuid[] NOT NULL DEFAULT '{}',
    ADD COLUMN ending   text CHECK (ending IN ('LEFT', 'CUT_OFF')); -- NULL while it lives, and when it died

ALTER TABLE carillon.task
    ADD COLUMN crashes     smallint, -- nodes that died while they ran it, as far as it may be to blame; NULL means none
    ADD COLUMN request     text,     -- what the last attempt sent, without secrets
    ADD COLUMN on_complete jsonb,
    ADD COLUMN on_dead     jsonb;

ALTER TABLE carillon.attempt
    ADD COLUMN request text;

-- A page of the story of a task is quick however long the story is; fences rise with time.
DROP INDEX carillon.attempt_task;
DROP INDEX carillon.transition_task;
CREATE INDEX attempt_task ON carillon.attempt (tenant, task, fence);
CREATE INDEX transition_task ON carillon.transition (tenant, task, fence, at);

-- What errors have in common once their numbers and names of things are taken out.
CREATE FUNCTION carillon.fingerprint(failure text, status smallint, error text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN left(md5(coalesce(failure, '') || ' ' || coalesce(status::text, '') || ' '
                    || regexp_replace(left(coalesce(error, ''), 500),
                                      '[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|0x[0-9a-fA-F]+|[0-9]+|"[^"]*"|''[^'']*''',
                                      '#', 'g')), 16);

ALTER TABLE carillon.dead_letter
    ADD COLUMN failure     text,
    ADD COLUMN status      smallint,
    ADD COLUMN key         text,
    ADD COLUMN kept_from   timestamptz NOT NULL DEFAULT clock_timestamp(), -- what is restored is kept as long again
    ADD COLUMN fingerprint text NOT NULL GENERATED ALWAYS AS (carillon.fingerprint(failure, status, error)) STORED;

UPDATE carillon.dead_letter d
SET failure = t.failure,
    status = t.status,
    key = t.key,
    kept_from = d.died_at
FROM carillon.task t
WHERE t.tenant = d.tenant
  AND t.id = d.task
  AND t.slot = d.slot;

CREATE INDEX dead_letter_kind ON carillon.dead_letter (tenant, type, fingerprint, died_at, task);
CREATE INDEX dead_letter_key ON carillon.dead_letter (tenant, key, died_at, task) WHERE key IS NOT NULL;
CREATE INDEX dead_letter_oldest ON carillon.dead_letter (kept_from);

-- Dead letters of one type that died of the same thing. Counted as they come and go, so that nobody has to count them.
CREATE TABLE carillon.dead_letter_group (
    tenant      int NOT NULL,
    type        text NOT NULL,
    fingerprint text NOT NULL,
    failure     text,
    status      smallint,
    error       text, -- of one of the newest
    letters     bigint NOT NULL, -- that are there now
    deaths      bigint NOT NULL, -- that there ever were
    first_at    timestamptz NOT NULL,
    last_at     timestamptz NOT NULL,
    alerted_at  timestamptz, -- when somebody was last told that it grows
    alert_until timestamptz, -- nobody is told again before then; every death puts it off
    PRIMARY KEY (tenant, type, fingerprint)
);

CREATE INDEX dead_letter_group_last ON carillon.dead_letter_group (tenant, last_at, type, fingerprint)
    WHERE letters > 0;

CREATE INDEX dead_letter_group_empty ON carillon.dead_letter_group (last_at) WHERE letters = 0;

INSERT INTO carillon.dead_letter_group (
    tenant, type, fingerprint, failure, status, error, letters, deaths, first_at, last_at)
SELECT tenant, type, fingerprint, min(failure), min(status), max(error), count(*), count(*), min(died_at), max(died_at)
FROM carillon.dead_letter
GROUP BY tenant, type, fingerprint;

CREATE FUNCTION carillon.dead_letters_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO carillon.dead_letter_group AS g (
        tenant, type, fingerprint, failure, status, error, letters, deaths, first_at, last_at)
    SELECT tenant, type, fingerprint, min(failure), min(status), max(error), count(*), count(*), min(died_at),
           max(died_at)
    FROM added
    GROUP BY tenant, type, fingerprint
    ORDER BY tenant, type, fingerprint -- in one order, so that two never wait for each other
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

-- Dead letters on their way back, at a pace; any node takes the next step.
CREATE TABLE carillon.redrive (
    id         uuid PRIMARY KEY,
    tenant     int NOT NULL REFERENCES carillon.tenant (id),
    state      text NOT NULL CHECK (state IN ('RUNNING', 'DONE', 'STOPPED', 'UNDOING', 'UNDONE')),
    filter     jsonb NOT NULL, -- of the ids, how many they are
    ids        uuid[] NOT NULL, -- of tasks; apart, so that who lists redrives does not read them
    rate       int, -- per second; NULL means as fast as it goes
    who        text NOT NULL,
    created_at timestamptz NOT NULL, -- what dies later is not meant
    ended_at   timestamptz,
    matched    bigint NOT NULL,
    at_least   boolean NOT NULL, -- matched was not counted to the end
    redriven   bigint NOT NULL DEFAULT 0,
    refused    bigint NOT NULL DEFAULT 0, -- dead letters that could not be redriven, and are there still
    undone     bigint NOT NULL DEFAULT 0,
    after_at   timestamptz, -- how far it has come among the dead letters, by age
    after_task uuid,
    steps      bigint NOT NULL DEFAULT 0, -- of those that keep to a rate
    stepped_at timestamptz, -- its last step, or the last that failed
    undone_by  text
);

CREATE INDEX redrive_open ON carillon.redrive (stepped_at NULLS FIRST, created_at) WHERE ended_at IS NULL;
CREATE INDEX redrive_open_tenant ON carillon.redrive (tenant) WHERE ended_at IS NULL;
CREATE INDEX redrive_ended ON carillon.redrive (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX redrive_tenant ON carillon.redrive (tenant, created_at, id);

-- What a redrive let go, with what is needed to take it back.
CREATE TABLE carillon.redriven (
    redrive     uuid NOT NULL REFERENCES carillon.redrive (id) ON DELETE CASCADE,
    n           bigint NOT NULL, -- the first one is 1; the last ones are the likeliest not to have started yet
    tenant      int NOT NULL,
    task        uuid NOT NULL,
    slot        date NOT NULL,
    fence       int NOT NULL, -- as it was then: who has run since has a higher one
    attempt     int NOT NULL,
    crashes     smallint,
    due_at      timestamptz NOT NULL,
    expires_at  timestamptz,
    finished_at timestamptz,
    died_at     timestamptz NOT NULL,
    PRIMARY KEY (redrive, n)
);

CREATE INDEX audit_subject ON carillon.audit (tenant, subject, id);
