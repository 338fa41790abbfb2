package carillon.model.task;

import carillon.model.TenantId;

/** One queue of waiting tasks. */
public record Lane(int id, TenantId tenant, String type, int priority, int slice, Route route) {}
