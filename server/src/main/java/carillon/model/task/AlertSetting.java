package carillon.model.task;

/** Which alerts about growing dead letters are sent for a tenant. */
public sealed interface AlertSetting {

  /** The installation's rule applies, and its operators receive the alerts. */
  record AsInstallation() implements AlertSetting {}

  /** No alerts. */
  record Off() implements AlertSetting {}

  /** The tenant's own rule applies, and only the tenant receives the alerts. */
  record Own(AlertRule rule) implements AlertSetting {}
}
