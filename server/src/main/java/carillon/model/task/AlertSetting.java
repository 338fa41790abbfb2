package carillon.model.task;

/** Which dead-letter alerts a tenant gets. */
public sealed interface AlertSetting {

  /** The installation's rule applies, and its operators receive the alerts. */
  record Inherited() implements AlertSetting {}

  /** No alerts. */
  record Off() implements AlertSetting {}

  /** The tenant's own rule applies, and only the tenant receives the alerts. */
  record Own(AlertRule rule) implements AlertSetting {}
}
