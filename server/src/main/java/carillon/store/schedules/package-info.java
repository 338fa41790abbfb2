/**
 * Schedules, their fires and their backfills.
 *
 * <p>{@link carillon.store.schedules.Schedules} is for the API, {@link
 * carillon.store.schedules.DueSchedules} for the planner. Fires are written by {@code
 * FirePlanWriter}, {@code ManualTriggers} and {@code BackfillSteps}, read by {@code FireHistory}
 * and {@code ScheduleTasks}, and deleted by {@code PlannedTaskWithdrawals} and {@code
 * FireRetention}.
 */
@NullMarked
package carillon.store.schedules;

import org.jspecify.annotations.NullMarked;
