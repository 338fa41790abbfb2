/**
 * The only room that speaks SQL.
 *
 * <p>One statement is one text block right above the one method that runs it, and starts with the
 * name of that method, so that {@code pg_stat_activity} points back here. Types given to {@code
 * api} take the tenant first ({@link carillon.store.tasks.Tasks}, {@link
 * carillon.store.queue.PullQueue}, ...); {@link carillon.store.queue.WorkQueue} crosses tenants and
 * is given to {@code engine}. May use {@code model} and JDBC; decides nothing: what an attempt
 * means comes from the model.
 *
 * <p>The one invariant: a RUNNING task is written only by a statement that names its current lease,
 * and the row lock under which the guard is checked is the one under which it is written.
 */
@NullMarked
package carillon.store;

import org.jspecify.annotations.NullMarked;
