-- Takes back V9. The program before it cannot read a broker's target: what still has one is named, not changed.
-- What has ended keeps its story, in lanes that the old program knows.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

ALTER TABLE carillon.tenant DROP COLUMN publish;
ALTER TABLE carillon.lane DROP CONSTRAINT lane_route_check; -- locks it: from here on nobody makes another lane

DO $$
DECLARE
    culprit text;
BEGIN
    SELECT name INTO culprit FROM carillon.task_type WHERE target -> 'kafka' IS NOT NULL OR target -> 'rabbitmq' IS NOT NULL LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'type % has a broker as its target: give it another one first', culprit;
    END IF;
    SELECT name INTO culprit FROM carillon.schedule WHERE target -> 'kafka' IS NOT NULL OR target -> 'rabbitmq' IS NOT NULL LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'schedule % has a broker as its target: give it another one first', culprit;
    END IF;
    SELECT t.id::text INTO culprit
    FROM carillon.task t
    WHERE t.lane IN (SELECT id FROM carillon.lane WHERE route LIKE '%:%')
      AND t.state IN ('PENDING', 'RUNNING', 'DEAD')
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'task % has a broker as its target and has not ended: cancel, finish or purge such tasks first', culprit;
    END IF;
END
$$;

INSERT INTO carillon.lane (tenant, type, priority, slice, route)
SELECT DISTINCT tenant, type, priority, slice, 'PULL'
FROM carillon.lane
WHERE route LIKE '%:%'
ON CONFLICT DO NOTHING;

UPDATE carillon.task t
SET lane = pulled.id,
    target = '{"pull": {}}'
FROM carillon.lane published
JOIN carillon.lane pulled USING (tenant, type, priority, slice)
WHERE t.lane = published.id
  AND published.route LIKE '%:%'
  AND pulled.route = 'PULL';

DELETE FROM carillon.lane WHERE route LIKE '%:%';

ALTER TABLE carillon.lane
    ADD CONSTRAINT lane_route_check CHECK (route IN ('TYPE', 'PUSH', 'PULL'));
