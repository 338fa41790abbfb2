/**
 * The chaos harness: injects faults into a cluster on one machine, and checks from outside that it
 * kept its guarantees.
 *
 * <p>{@link carillon.chaos.Main} executes a run per seed. A run is a {@link carillon.chaos.Run} of
 * a {@link carillon.chaos.cluster.Cluster} of real processes, each of which reaches a real
 * PostgreSQL only through its own {@link carillon.chaos.cluster.Relay}; a {@link
 * carillon.chaos.load.Load} of clients, workers and schedules; a {@link
 * carillon.chaos.load.Receiver} of deliveries; and a {@link carillon.chaos.faults.Nemesis} that
 * injects faults. All observations from outside are recorded in one order, and the {@link
 * carillon.chaos.rules} check them afterwards.
 *
 * <p>The harness imports no class of the server, so it cannot share its defects.
 */
@NullMarked
package carillon.chaos;

import org.jspecify.annotations.NullMarked;
