/**
 * The program: reads the configuration, and starts and stops a node.
 *
 * <p>{@link carillon.app.Main} picks a command. {@code server} and {@code migrate} are here; every
 * other command is a thin client of the HTTP API in {@link carillon.cli}. {@link
 * carillon.app.config.ConfigLoader} alone reads flags, variables and files, and creates one {@link
 * carillon.app.config.Config}. {@link carillon.app.Wiring} is the map of the system: it builds and
 * starts all parts in order, and stops them in the reverse order. {@link
 * carillon.app.postgres.EmbeddedPostgres} is the database if none is configured.
 *
 * <p>May use every other room, and is used by none. The one invariant: a failure before the program
 * runs ends it with one line on stderr and status 2, never with a stack trace.
 */
@NullMarked
package carillon.app;

import org.jspecify.annotations.NullMarked;
