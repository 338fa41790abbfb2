-- Dead letters with what they are searched by, in groups of the same type and error. Reads all dead letters once, and
-- locks no other table: tasks that die meanwhile wait, everything else goes on.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

-- What errors of one type have in common once their numbers and names of things are taken out.
CREATE FUNCTION carillon.fingerprint(type text, failure text, status smallint, error text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN left(md5(type || ' ' || coalesce(failure, '') || ' ' || coalesce(status::text, '') || ' '
                    || regexp_replace(left(coalesce(error, ''), 500),
                                      '[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|0x[0-9a-fA-F]+|[0-9]+|"[^"]*"|''[^'']*''',
                                      '#', 'g')), 16);

ALTER TABLE carillon.dead_letter
    ADD COLUMN failure     text,
    ADD COLUMN status      smallint,
    ADD COLUMN key         text,
    ADD COLUMN kept_from   timestamptz NOT NULL DEFAULT clock_timestamp(), -- what is restored is kept as long again
    ADD COLUMN fingerprint text NOT NULL GENERATED ALWAYS AS (carillon.fingerprint(type, failure, status, error)) STORED;

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
