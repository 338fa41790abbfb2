/**
 * Breaks a running cluster in every way that one machine allows, and judges from outside what came
 * of it.
 *
 * <p>{@link carillon.chaos.Main} goes through seeds. Each is a {@link carillon.chaos.Run}: a {@link
 * carillon.chaos.cluster.Cluster} of real processes that reach a real PostgreSQL only through a
 * {@link carillon.chaos.cluster.Relay} each, a {@link carillon.chaos.load.Load} of clients, workers
 * and schedules, a {@link carillon.chaos.load.Receiver} of deliveries, and a {@link
 * carillon.chaos.faults.Nemesis} that makes faults. Everything that anybody outside sees is
 * recorded in one order and judged afterwards.
 *
 * <p>Nothing of the server is imported here, so that nothing here can flatter it.
 */
@NullMarked
package carillon.chaos;

import org.jspecify.annotations.NullMarked;
