-- Takes back V3. What it counted and kept beside the tasks is lost; the tasks and dead letters stay.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

DROP INDEX carillon.audit_subject;

DROP TABLE carillon.redriven;
DROP TABLE carillon.redrive;

DROP TRIGGER dead_letters_added ON carillon.dead_letter;
DROP TRIGGER dead_letters_removed ON carillon.dead_letter;
DROP FUNCTION carillon.dead_letters_added();
DROP FUNCTION carillon.dead_letters_removed();
DROP TABLE carillon.dead_letter_group;

DROP INDEX carillon.dead_letter_kind;
DROP INDEX carillon.dead_letter_key;
DROP INDEX carillon.dead_letter_oldest;

ALTER TABLE carillon.dead_letter
    DROP COLUMN fingerprint,
    DROP COLUMN failure,
    DROP COLUMN status,
    DROP COLUMN key,
    DROP COLUMN kept_from;

DROP FUNCTION carillon.fingerprint(text, smallint, text);

DROP INDEX carillon.attempt_task;
DROP INDEX carillon.transition_task;
CREATE INDEX attempt_task ON carillon.attempt (tenant, task);
CREATE INDEX transition_task ON carillon.transition (tenant, task);

-- The program before knows fewer kinds of failures.
UPDATE carillon.task
SET failure = CASE failure WHEN 'BROKEN' THEN 'CONNECTION' WHEN 'CONNECT_TIMEOUT' THEN 'TIMEOUT' ELSE 'LEASE_LOST' END
WHERE failure IN ('BROKEN', 'CONNECT_TIMEOUT', 'CRASHED', 'POISON');
UPDATE carillon.attempt
SET failure = CASE failure WHEN 'BROKEN' THEN 'CONNECTION' WHEN 'CONNECT_TIMEOUT' THEN 'TIMEOUT' ELSE 'LEASE_LOST' END
WHERE failure IN ('BROKEN', 'CONNECT_TIMEOUT', 'CRASHED', 'POISON');

ALTER TABLE carillon.attempt
    DROP COLUMN request;

ALTER TABLE carillon.task
    DROP COLUMN crashes,
    DROP COLUMN request,
    DROP COLUMN on_complete,
    DROP COLUMN on_dead;

ALTER TABLE carillon.node
    DROP COLUMN suspects,
    DROP COLUMN ending;

ALTER TABLE carillon.tenant
    DROP COLUMN alert;

ALTER TABLE carillon.task_type
    DROP COLUMN status_rules,
    DROP COLUMN schema,
    DROP COLUMN on_complete,
    DROP COLUMN on_dead;
