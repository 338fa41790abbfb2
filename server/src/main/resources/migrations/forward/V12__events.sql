-- What happens to tasks whose tenant somebody watches, for a moment, and who is watched. It is a view of what goes on:
-- nothing of it need outlive a crash, so it costs no log.

-- Tenants that are watched through some node, until then unless it is said again.
CREATE UNLOGGED TABLE carillon.watch (
    tenant int PRIMARY KEY,
    until  timestamptz NOT NULL
);

CREATE UNLOGGED TABLE carillon.event (
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(), -- after a crash ids begin anew, time does not
    id         bigint GENERATED ALWAYS AS IDENTITY,
    tenant     int NOT NULL,
    at         timestamptz NOT NULL,
    type       text,
    task       uuid, -- NULL: only how many there were besides
    from_state carillon.task_state, -- NULL: it was created
    to_state   carillon.task_state,
    attempt    int,
    skipped    int NOT NULL DEFAULT 0,
    node       text NOT NULL,
    PRIMARY KEY (written_at, id)
);
