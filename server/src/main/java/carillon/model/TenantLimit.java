package carillon.model;

import java.util.Locale;

/** Things of which a tenant may have a limited number. */
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
