-- Takes back V4. Redrives are lost; the tasks and dead letters stay.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

DROP INDEX carillon.audit_subject;

DROP TABLE carillon.redriven;
DROP TABLE carillon.redrive;

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
