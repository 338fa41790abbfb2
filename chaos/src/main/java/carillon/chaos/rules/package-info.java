/**
 * Judges a history: {@link carillon.chaos.rules.Facts} puts together what belongs together, each
 * {@link carillon.chaos.rules.Rule} looks for one kind of wrong, and a {@link
 * carillon.chaos.rules.Verdict} is all that was found.
 *
 * <p>Every rule takes time in proportion to the history, or little more: tasks have unique ids, so
 * each is judged alone. What the program says of itself proves nothing here, except where it
 * contradicts itself; the receiver, the clients and the {@link carillon.chaos.history.Witness} do.
 */
@NullMarked
package carillon.chaos.rules;

import org.jspecify.annotations.NullMarked;
