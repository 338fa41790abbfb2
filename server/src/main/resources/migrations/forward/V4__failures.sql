-- What fails: rules of types, crashes, what was sent, callbacks, alerts, redrives that take a while. Reads no table but the audit.

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
    kept_from   timestamptz NOT NULL,
    PRIMARY KEY (redrive, n)
);

CREATE INDEX audit_subject ON carillon.audit (tenant, subject, id);
