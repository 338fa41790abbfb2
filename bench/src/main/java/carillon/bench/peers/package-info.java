/**
 * The libraries that Carillon is compared with, each in its own process.
 *
 * <p>{@link carillon.bench.peers.Driver} talks to the benchmark over standard input and output and
 * runs a {@link carillon.bench.peers.Library} with the best settings that we found. {@link
 * carillon.bench.peers.Raw} is no scheduler: it runs the plain statements and requests that every
 * scheduler needs.
 */
@NullMarked
package carillon.bench.peers;

import org.jspecify.annotations.NullMarked;
