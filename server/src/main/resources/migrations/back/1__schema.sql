-- Reverses V1: there is nothing before it, so everything goes, tasks included.

-- Fail and be started again rather than let every claim wait behind this migration for a lock.
SET LOCAL lock_timeout = '2s';

DO $$
DECLARE
    suffix text;
BEGIN
    FOR suffix IN SELECT '' UNION ALL SELECT to_char(p.day, '_YYYYMMDD') FROM carillon.partition p LOOP
        EXECUTE format('DROP VIEW carillon.%I, carillon.%I', 'every_transition' || suffix, 'every_task' || suffix);
    END LOOP;
END
$$;

DROP VIEW carillon.misplaced_task;
DROP TABLE carillon.event, carillon.watch, carillon.census, carillon.waiting, carillon.activity, carillon.backfill,
    carillon.schedule_fire, carillon.schedule, carillon.redriven, carillon.redrive, carillon.dead_letter_group,
    carillon.dead_letter, carillon.running_key, carillon.claim, carillon.lane, carillon.shard, carillon.leadership,
    carillon.node, carillon.unique_task, carillon.reply, carillon.partition, carillon.catalog_change, carillon.catalog,
    carillon.audit, carillon.api_key, carillon.task_type, carillon.tenant_limits, carillon.tenant;
DROP TABLE carillon.transition, carillon.attempt, carillon.queue, carillon.task;
DROP FUNCTION carillon.create_partition, carillon.create_views;
DROP TABLE carillon.partition_settings;
DROP FUNCTION carillon.leads, carillon.tenant_usage, carillon.creation_lock, carillon.catalog_changed,
    carillon.dead_letters_added, carillon.dead_letters_removed, carillon.fingerprint;
DROP TYPE carillon.task_state;
