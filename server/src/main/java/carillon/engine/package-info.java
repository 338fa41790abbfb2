/**
 * The loops that make due tasks happen.
 *
 * <p>Each loop is a plain object with one public pass ({@code claimOnce}, {@code flushOnce}, ...)
 * that tests drive by hand, and a {@link carillon.engine.Loop} that repeats it on a thread of the
 * same name. {@link carillon.engine.Engine} starts and stops them in order. May use {@code model},
 * {@code store} and {@link carillon.delivery.Deliverer}; knows neither SQL nor HTTP, and neither
 * the API nor the cluster: they meet in the table.
 *
 * <p>The one invariant: between a claim and the write of its outcome a task takes some of the
 * node's room ({@code Seats}), so what runs here is never more than the node has seats, and a slow
 * database slows claims down instead of filling memory.
 */
@NullMarked
package carillon.engine;

import org.jspecify.annotations.NullMarked;
