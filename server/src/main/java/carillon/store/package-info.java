/**
 * The only package with SQL.
 *
 * <p>{@link carillon.store.Store} holds everything that one database handle can read and write; the
 * other packages see it as {@link carillon.store.ApiStore}, {@link carillon.store.EngineStore} or
 * {@link carillon.store.LeaderStore}. {@link carillon.store.Memory} is what a process remembers.
 *
 * <p>One statement is one text block right above the one method that runs it, and starts with the
 * name of that method, so that {@code pg_stat_activity} points back here. Parts of the API's store
 * take the tenant first ({@link carillon.store.tasks.Tasks}, {@link
 * carillon.store.queue.PullQueue}, ...); {@link carillon.store.queue.WorkQueue} crosses tenants and
 * belongs to the engine. May use {@code model} and JDBC; decides nothing: the model decides what an
 * attempt means.
 *
 * <p>Two invariants. A task that its row calls PENDING is either in {@code queue}, where it waits,
 * or listed by a claim, under which it runs. The row of a running task is written only by a
 * statement that names its current lease, except for the mark of a cancel, and the row lock under
 * which the guard is checked is the one under which it is written.
 */
@NullMarked
package carillon.store;

import org.jspecify.annotations.NullMarked;
