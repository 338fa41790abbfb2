-- Reverses V2: the SQL API is gone, and so are its grants. Tasks that were enqueued with it stay.

-- Fail and be started again rather than let every claim wait behind this migration for a lock.
SET LOCAL lock_timeout = '2s';

-- In the order in which nodes and users lock them, to prevent a deadlock. No new cancel is requested from here on.
LOCK TABLE carillon.tenant, carillon.task_type, carillon.lane, carillon.cancel_request;

DO $$
BEGIN
    IF EXISTS (SELECT FROM carillon.cancel_request) THEN
        RAISE EXCEPTION 'cancels that were asked for in SQL are not done yet: wait a second for the leader to do them, with at least one node running';
    END IF;
END
$$;

DO $$
DECLARE
    granted record;
BEGIN
    FOR granted IN SELECT DISTINCT r.rolname FROM carillon.sql_role g JOIN pg_roles r ON r.oid = g.role LOOP
        EXECUTE format('REVOKE USAGE ON SCHEMA carillon FROM %I', granted.rolname);
    END LOOP;
END
$$;

DROP TRIGGER refuse_too_many ON carillon.task_type;
DROP TRIGGER refuse_too_many ON carillon.lane;
DROP FUNCTION carillon.enqueue, carillon.cancel, carillon.grant_enqueue, carillon.revoke_enqueue,
    carillon.cancel_waiting, carillon.existing_task, carillon.is_younger, carillon.live_tasks, carillon.create_lane,
    carillon.refuse_too_many, carillon.refuse_bad_metadata, carillon.refuse_bad_payload, carillon.refuse_bad_text,
    carillon.sql_caller;
DROP TABLE carillon.cancel_request, carillon.sql_role;
