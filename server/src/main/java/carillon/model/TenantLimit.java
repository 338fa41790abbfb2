package carillon.model;

import java.util.Locale;

/** What a tenant may have only so many of. */
public enum TenantLimit {
  TYPES,
  /** One for each type, priority, slice and route of which there was ever a task. */
  LANES,
  SCHEDULES,
  /** API keys that are neither revoked nor expired. */
  KEYS;

  /** How it is called in the API, in settings and in SQL. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
