-- Takes back V17: tenants have as many types, lanes, schedules and keys as they create.

SET LOCAL lock_timeout = '2s';

DROP TRIGGER refuse_too_many ON carillon.task_type;
DROP TRIGGER refuse_too_many ON carillon.lane;
DROP FUNCTION carillon.refuse_too_many;
DROP FUNCTION carillon.tenant_usage;
DROP TABLE carillon.tenant_limits;

ALTER TABLE carillon.tenant
    DROP COLUMN max_types,
    DROP COLUMN max_lanes,
    DROP COLUMN max_schedules,
    DROP COLUMN max_keys;

CREATE OR REPLACE FUNCTION carillon.making(tenant int, type text, priority int DEFAULT NULL, slice int DEFAULT NULL,
                                           route text DEFAULT NULL)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT hashtextextended(concat_ws('/', 'carillon', tenant, type, priority, slice, route), 0)
$$;
