package carillon.model.task;

import java.util.UUID;

/**
 * The right to run one attempt of a task; every write about that attempt names it.
 *
 * @param fence rises with every claim of the task and never falls, so a receiver can reject an
 *     older one
 * @param claim random per claim, so that a fence issued again after a failover is not mistaken for
 *     this one
 */
public record Lease(int fence, UUID claim) {}
