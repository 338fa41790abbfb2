/**
 * What things are, and the pure rules about them.
 *
 * <p>A task, its states, its target and retry policy, what came back from the wire and what that
 * means. Nothing here does I/O, reads a clock or imports another room: time and randomness are
 * parameters, so every rule has a table test.
 *
 * <p>The one invariant: {@link carillon.model.task.TaskState#canBecome} lists every change of state
 * there is.
 */
@NullMarked
package carillon.model;

import org.jspecify.annotations.NullMarked;
