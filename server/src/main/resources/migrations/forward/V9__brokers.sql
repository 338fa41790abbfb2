-- Lanes whose tasks are published to a broker, and to where a tenant may publish.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

ALTER TABLE carillon.lane
    DROP CONSTRAINT lane_route_check,
    ADD CONSTRAINT lane_route_check
        CHECK (route ~ '^(TYPE|PUSH|PULL|(PUBLISH|REPORT):(kafka|rabbitmq)/[a-z0-9][a-z0-9-]{0,39})$');

ALTER TABLE carillon.tenant
    ADD COLUMN publish text[]; -- such as kafka/main/orders.*; NULL: the tenant default everywhere, the others nowhere
