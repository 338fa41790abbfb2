/**
 * Schedules, and the pure decisions about which of their nominal times become tasks.
 *
 * <p>The stages of one fire:
 *
 * <pre>
 * NominalTime        the rule says that the schedule fires then
 *   FirePlan.Decision    create a task, or skip it for a reason
 *     RecordedFire       the decision as stored (in store.schedules)
 *       UnsettledFire    its task was created, and its end is not recorded yet
 *         FireSettlement how the task ended, counted for the schedule
 * </pre>
 */
@NullMarked
package carillon.model.schedule;

import org.jspecify.annotations.NullMarked;
