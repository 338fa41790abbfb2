-- Takes back V16.

ALTER TABLE carillon.node
    DROP COLUMN suspects_waiting,
    DROP COLUMN suspects_running;
