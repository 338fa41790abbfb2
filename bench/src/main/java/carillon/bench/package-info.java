/**
 * Measures schedulers from outside: as separate programs, over their public interfaces, next to the
 * same PostgreSQL, in one run.
 *
 * <p>{@link carillon.bench.Main} goes through the scenarios. Each gets a database of its own and a
 * freshly started {@link carillon.bench.systems.Contender}, warms it up, and puts a {@link
 * carillon.bench.scenarios.Meter} around the part that counts. What happened when is asked of
 * Carillon's database, never of its own clock or counters; these only say when to look. A {@link
 * carillon.bench.systems.Peer} keeps no such record, so its handlers' clock and the rows that are
 * left count. {@link carillon.bench.report.Report} writes what came out, {@link
 * carillon.bench.report.Targets} whether it is enough.
 *
 * <p>Nothing of the server is imported here, so that nothing here can flatter it.
 */
@NullMarked
package carillon.bench;

import org.jspecify.annotations.NullMarked;
