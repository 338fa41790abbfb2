package carillon.store;

import carillon.model.AlertSetting;
import carillon.model.TenantId;

/** One user of the installation, kept apart from all others. */
public record Tenant(
    TenantId id, String name, boolean strict, boolean paused, int weight, AlertSetting alert) {}
