-- Who leads, which node looks after which shard, and what a node says of itself.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

ALTER TABLE carillon.node
    ADD COLUMN address         text,                           -- where its API answers, for people
    ADD COLUMN draining        boolean NOT NULL DEFAULT false, -- it is stopping: it gets no shards
    ADD COLUMN renewed_at      timestamptz NOT NULL DEFAULT now(), -- not a volatile default: that would rewrite the table
    ADD COLUMN clock_offset_us bigint,                         -- the database's clock minus its own
    ADD COLUMN in_flight       int NOT NULL DEFAULT 0,
    ADD COLUMN seats           int NOT NULL DEFAULT 0,
    ADD COLUMN lag_ms          bigint NOT NULL DEFAULT 0,      -- how long the first due task of its lanes has waited
    ADD COLUMN claimed         bigint NOT NULL DEFAULT 0,      -- since it started
    ADD COLUMN ended           bigint NOT NULL DEFAULT 0;      -- the same

-- The one row that nodes contend for. The term rises with every change of hands and never falls.
CREATE TABLE carillon.leadership (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    term        bigint NOT NULL,
    node        text, -- NULL if nobody has led yet, or the last one has resigned
    since       timestamptz,
    lease_until timestamptz NOT NULL
);

INSERT INTO carillon.leadership (term, lease_until) VALUES (0, '-infinity');

-- A share of the lanes, by lane number modulo their count. The leader says who looks after it.
CREATE TABLE carillon.shard (
    id       smallint PRIMARY KEY,
    node     text, -- NULL while nobody does
    term     bigint NOT NULL DEFAULT 0, -- of the leader that wrote it
    moved_at timestamptz
);

INSERT INTO carillon.shard (id) SELECT generate_series(0, 63);

-- Whether this is still the term, and that it stays so until the transaction ends: a takeover waits for it. A leader
-- that freezes meanwhile must not hold it up, so its session ends when it has been idle for 2 s.
CREATE FUNCTION carillon.leads(my_term bigint, my_node text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM set_config('idle_in_transaction_session_timeout', '2s', true);
    PERFORM pg_advisory_xact_lock_shared(hashtext('carillon.leadership'));
    -- A statement of its own, so that it sees what was committed while we waited.
    RETURN EXISTS (SELECT FROM carillon.leadership WHERE term = my_term AND node = my_node);
END
$$;
