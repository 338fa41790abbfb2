package carillon.model.task;

import carillon.model.TenantId;

/** One queue of waiting tasks. Every policy says how many tasks a lane may release now. */
public record Lane(int id, TenantId tenant, String type, int priority, int slice, Route route) {}
