/**
 * Measures schedulers from outside: as separate programs, over their public interfaces, next to the
 * same PostgreSQL, in one run.
 *
 * <p>{@link carillon.bench.Main} runs the scenarios. Each gets its own database and a freshly
 * started {@link carillon.bench.systems.Contender}, warms it up, and puts a {@link
 * carillon.bench.scenarios.Meter} around the measured part. For Carillon, times come from its
 * database, never from its own clock or counters, which only tell the benchmark when to query. A
 * {@link carillon.bench.systems.Peer} keeps no such record, so its handlers' clock and its
 * remaining rows are used. {@link carillon.bench.report.Report} writes the results, {@link
 * carillon.bench.report.Targets} compares them with the targets.
 *
 * <p>Only {@link carillon.bench.peers.Raw} uses server classes, and in its own process, so that the
 * benchmark cannot favour Carillon.
 */
@NullMarked
package carillon.bench;

import org.jspecify.annotations.NullMarked;
