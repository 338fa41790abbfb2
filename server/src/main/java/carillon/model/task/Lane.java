package carillon.model.task;

import carillon.model.TenantId;

/** One line of waiting tasks; every policy is a number of tasks that a lane may release now. */
public record Lane(int id, TenantId tenant, String type, int priority, int slice, Route route) {}
