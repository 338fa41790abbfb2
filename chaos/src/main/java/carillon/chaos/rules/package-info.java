/**
 * Checks a history: {@link carillon.chaos.rules.Facts} indexes it, each {@link
 * carillon.chaos.rules.Rule} searches it for one kind of violation, and a {@link
 * carillon.chaos.rules.Findings} collects the findings.
 *
 * <p>The rules take about linear time: tasks have unique ids, so each is checked alone. The
 * evidence comes from the receiver, the clients, the workers and the {@link
 * carillon.chaos.history.Witness}. What the program reports about itself is used only to find
 * contradictions.
 */
@NullMarked
package carillon.chaos.rules;

import org.jspecify.annotations.NullMarked;
