-- Takes back V10: nobody enqueues in SQL any more. The tasks that were enqueued so stay.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

LOCK TABLE carillon.cancel_request; -- from here on nobody asks for another

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

DROP FUNCTION carillon.enqueue, carillon.cancel, carillon.grant_enqueue, carillon.revoke_enqueue,
    carillon.cancel_waiting, carillon.existing_task, carillon.is_younger, carillon.live_tasks,
    carillon.refuse_bad_metadata, carillon.refuse_bad_payload, carillon.refuse_bad_text, carillon.sql_caller,
    carillon.make_lane, carillon.making;

CREATE OR REPLACE FUNCTION carillon.catalog_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE carillon.catalog SET version = version + 1;
    RETURN NULL;
END
$$;

-- Higher than any version that was ever seen, so that nodes read everything again.
UPDATE carillon.catalog SET version = version + 1 + (SELECT count(*) FROM carillon.catalog_change);
DROP TABLE carillon.catalog_change, carillon.cancel_request, carillon.sql_role;

GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA carillon TO PUBLIC;
