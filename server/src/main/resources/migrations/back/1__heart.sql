-- Takes back V1. There is nothing before it, so everything goes, tasks included.
DROP TABLE carillon.audit, carillon.api_key, carillon.unique_task, carillon.reply, carillon.dead_letter,
    carillon.running_key, carillon.claim, carillon.node, carillon.transition, carillon.attempt, carillon.task,
    carillon.slot, carillon.catalog, carillon.lane, carillon.task_type, carillon.tenant;
DROP FUNCTION carillon.make_slot(date);
DROP FUNCTION carillon.catalog_changed();
DROP TYPE carillon.task_state;
