-- What a node says with every heartbeat of the tasks that it runs in small groups, because a node died while it ran them.

ALTER TABLE carillon.node
    ADD COLUMN suspects_waiting int NOT NULL DEFAULT 0,
    ADD COLUMN suspects_running int NOT NULL DEFAULT 0;
