-- Schedules, what became of each of their nominal times, and backfills of past ones.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

ALTER TABLE carillon.task ADD COLUMN fire_at timestamptz; -- the nominal time, where a schedule made it

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
    anchor               timestamptz NOT NULL, -- what intervals count from
    generation           int NOT NULL DEFAULT 1, -- part of its fires' ids: rises when what was planned is withdrawn
    cursor               timestamptz NOT NULL, -- every nominal time up to and including it has its fire
    plan_at              timestamptz, -- when the planner has to look at it again; NULL means never
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

-- Holds what the planner will have to look at, soonest first: idle schedules cost a pass nothing.
CREATE INDEX schedule_plan ON carillon.schedule (plan_at) WHERE plan_at IS NOT NULL;
CREATE INDEX schedule_type ON carillon.schedule (tenant, type);

-- One row for each nominal time that is over or planned: it has one outcome, whoever plans it.
-- A schedule that is deleted leaves its fires to the janitor.
CREATE TABLE carillon.schedule_fire (
    schedule    bigint NOT NULL,
    at          timestamptz NOT NULL,
    local       timestamp NOT NULL, -- as clocks in the schedule's zone show it
    shift       text NOT NULL, -- what a change of the clocks did to it
    kind        text NOT NULL CHECK (kind IN ('SCHEDULED', 'TRIGGER', 'BACKFILL')),
    skipped     text, -- why it has no task
    task        uuid,
    slot        date,
    outcome     text, -- how its task ended, once the planner has looked
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (schedule, at, local),
    CONSTRAINT task_or_skipped CHECK ((task IS NULL) <> (skipped IS NULL) AND (task IS NULL) = (slot IS NULL))
);

-- Those whose task may still be alive; a backfill may have made very many, which stand in nobody's way.
CREATE INDEX schedule_fire_open ON carillon.schedule_fire (schedule, at)
    WHERE task IS NOT NULL AND outcome IS NULL AND kind <> 'BACKFILL';
CREATE INDEX schedule_fire_backfilled ON carillon.schedule_fire (schedule, at)
    WHERE task IS NOT NULL AND outcome IS NULL AND kind = 'BACKFILL';
CREATE INDEX schedule_fire_age ON carillon.schedule_fire (recorded_at);

-- Past nominal times on their way to become tasks after all; its lock decides who takes the next step.
CREATE TABLE carillon.backfill (
    id          uuid PRIMARY KEY,
    tenant      int NOT NULL REFERENCES carillon.tenant (id),
    schedule    bigint NOT NULL,
    name        text NOT NULL, -- the schedule's, which may be gone by then
    state       text NOT NULL CHECK (state IN ('RUNNING', 'DONE', 'STOPPED')),
    from_at     timestamptz NOT NULL,
    to_at       timestamptz NOT NULL,
    overlap     text NOT NULL CHECK (overlap IN ('ALLOW', 'QUEUE')),
    times       int NOT NULL, -- nominal times from the one to the other
    made        int NOT NULL DEFAULT 0,
    existing    int NOT NULL DEFAULT 0, -- that had a task already
    skipped     int NOT NULL DEFAULT 0, -- that do not exist because of a change of the clocks
    cursor      timestamptz NOT NULL, -- all up to and including it are dealt with
    due_at      timestamptz NOT NULL, -- its next task is due then at the earliest, so that they run in order
    stepped_at  timestamptz, -- when it last had its turn
    created_at  timestamptz NOT NULL,
    created_by  text NOT NULL,
    finished_at timestamptz
);

CREATE INDEX backfill_open ON carillon.backfill (stepped_at NULLS FIRST, created_at) WHERE state = 'RUNNING';
CREATE INDEX backfill_schedule ON carillon.backfill (schedule, created_at, id);
CREATE INDEX backfill_age ON carillon.backfill (finished_at) WHERE finished_at IS NOT NULL;
