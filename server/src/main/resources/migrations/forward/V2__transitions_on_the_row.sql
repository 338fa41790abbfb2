-- The claim of a task and its completion stand on the task's own row and are no longer written a second time as
-- transitions. This says them all, wherever they stand.

CREATE VIEW carillon.every_transition AS
SELECT tenant, task, slot, at, from_state, to_state, fence, who, reason
FROM carillon.transition
UNION ALL
SELECT t.tenant, t.id, t.slot, t.started_at, 'PENDING', 'RUNNING', t.fence, t.leased_by, NULL
FROM carillon.task t
WHERE t.state IN ('RUNNING', 'COMPLETED')
  AND NOT EXISTS ( -- as written by a node of the version before
      SELECT FROM carillon.transition w
      WHERE w.tenant = t.tenant
        AND w.task = t.id
        AND w.slot = t.slot
        AND w.fence = t.fence
        AND w.to_state = 'RUNNING')
UNION ALL
SELECT t.tenant, t.id, t.slot, t.finished_at, 'RUNNING', 'COMPLETED', t.fence, t.leased_by, NULL
FROM carillon.task t
WHERE t.state = 'COMPLETED'
  AND NOT EXISTS ( -- by somebody else than the one who held it
      SELECT FROM carillon.transition w
      WHERE w.tenant = t.tenant
        AND w.task = t.id
        AND w.slot = t.slot
        AND w.fence = t.fence
        AND w.to_state = 'COMPLETED');

-- Ids of a batch hardly shrink, and trying costs every claim.
ALTER TABLE carillon.claim
    ALTER COLUMN tenants SET STORAGE EXTERNAL,
    ALTER COLUMN tasks SET STORAGE EXTERNAL;
