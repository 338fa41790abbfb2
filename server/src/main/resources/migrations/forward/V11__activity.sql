-- What happened, counted as it happens, and what waits, counted now and then: so that nobody who looks counts rows.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

-- Nodes add to it every two seconds. For each type, each tenant (type '') and the installation (tenant 0, type '').
CREATE TABLE carillon.activity (
    span      smallint NOT NULL CHECK (span IN (1, 60)), -- how many minutes a row stands for
    tenant    int NOT NULL,
    type      text NOT NULL,
    at        timestamptz NOT NULL, -- when these minutes began
    started   bigint NOT NULL DEFAULT 0,
    completed bigint NOT NULL DEFAULT 0,
    retried   bigint NOT NULL DEFAULT 0,
    dead      bigint NOT NULL DEFAULT 0,
    cancelled bigint NOT NULL DEFAULT 0,
    expired   bigint NOT NULL DEFAULT 0,
    late      bigint[] NOT NULL, -- of those started, by how late they were: 14 bounds, and what is beyond the last
    PRIMARY KEY (span, tenant, type, at)
) WITH (fillfactor = 60); -- each row is written many times: its next version should fit beside it

-- For the janitor alone. Partial, so that whoever reads the rows of a type cannot be given one of these instead of the
-- primary key while statistics are old: then all tenants' rows of that time would be read.
CREATE INDEX activity_minutes ON carillon.activity (at) WHERE span = 1;
CREATE INDEX activity_hours ON carillon.activity (at) WHERE span = 60;

-- How many tasks wait in a lane, whenever they are due. Written by the leader alone; nothing there means none.
CREATE TABLE carillon.waiting (
    lane  int NOT NULL,
    slot  date NOT NULL,
    tasks bigint NOT NULL,
    PRIMARY KEY (lane, slot)
);

CREATE INDEX waiting_slot ON carillon.waiting (slot);

-- Every slot that has changed was counted after this.
CREATE TABLE carillon.census (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    begun_at timestamptz
);

INSERT INTO carillon.census DEFAULT VALUES;
