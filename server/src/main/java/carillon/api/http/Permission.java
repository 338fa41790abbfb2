package carillon.api.http;

/** What an endpoint asks of its caller. */
public enum Permission {
  /** Needs no key at all. */
  NONE,
  /** Needs a key, of any role. */
  ANY,
  TASKS_CREATE,
  TASKS_READ,
  TASKS_CANCEL,
  /** Changing, running and redriving single tasks; redriving and purging dead letters. */
  TASKS_OPERATE,
  TYPES_READ,
  TYPES_CONFIGURE,
  SCHEDULES_READ,
  /** Making, changing, pausing, removing and triggering schedules. */
  SCHEDULES_CONFIGURE,
  WORK,
  KEYS,
  /** Reading who changed what. */
  AUDIT,
  TENANTS,
  /** Looking at nodes, leader, shards and the database. */
  CLUSTER,
  /** Putting back what was archived: whoever may do so writes history. */
  ARCHIVES
}
