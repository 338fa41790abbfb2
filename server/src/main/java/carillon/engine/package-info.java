/**
 * The loops that run due tasks.
 *
 * <p>Each loop is a plain object with one public pass ({@code claimOnce}, {@code flushOnce}, ...)
 * that tests drive by hand, and a {@link carillon.engine.Loop} that repeats it on a thread of the
 * same name. {@link carillon.engine.Engine} starts and stops them in order. May use {@code model},
 * {@code store} and {@link carillon.delivery.Deliverer}; knows neither SQL nor HTTP, and neither
 * the API nor the cluster: they meet in the tables. Threads that create tasks call {@code
 * Claimer.reserve} through an interface of the store.
 *
 * <p>The one invariant: a task holds one of the node's {@code Seats} from its claim on, so a node
 * never runs more tasks than it has seats, and a slow database slows claims down instead of filling
 * memory.
 */
@NullMarked
package carillon.engine;

import org.jspecify.annotations.NullMarked;
