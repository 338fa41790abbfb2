/**
 * The libraries that Carillon is measured against, each in a process of its own.
 *
 * <p>{@link carillon.bench.peers.Driver} speaks with the benchmark over standard input and output;
 * a {@link carillon.bench.peers.Library} is what it drives, with the best settings that we found.
 * {@link carillon.bench.peers.Raw} is no scheduler but the plain statements and requests that one
 * cannot do without.
 */
@NullMarked
package carillon.bench.peers;

import org.jspecify.annotations.NullMarked;
