package carillon.model.task;

/** What a tenant wants to hear of dead letters that grow. */
public sealed interface AlertSetting {

  /** Whatever the installation does: its operators hear of it, if they want to. */
  record AsInstallation() implements AlertSetting {}

  /** Nobody hears of it. */
  record Off() implements AlertSetting {}

  /** Only the tenant hears of it, by its own rule. */
  record Own(AlertRule rule) implements AlertSetting {}
}
