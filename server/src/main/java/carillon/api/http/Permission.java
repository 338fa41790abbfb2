package carillon.api.http;

/** The permission that an endpoint requires. */
public enum Permission {
  /** Requires no key. */
  NONE,
  /** Requires a key of any role. */
  ANY,
  TASKS_CREATE,
  TASKS_READ,
  TASKS_CANCEL,
  /** Changing, running and redriving single tasks; redriving and purging dead letters. */
  TASKS_OPERATE,
  TYPES_READ,
  TYPES_CONFIGURE,
  SCHEDULES_READ,
  /** Creating, changing, pausing, deleting and triggering schedules. */
  SCHEDULES_CONFIGURE,
  WORK,
  KEYS,
  /** Reading the audit log. */
  AUDIT,
  TENANTS,
  /** Reading the state of nodes, leader, shards and database. */
  CLUSTER,
  /** Restoring archived dead letters, which writes history. */
  ARCHIVES
}
