/**
 * The program: reads the configuration, constructs everything, starts and stops it.
 *
 * <p>{@link carillon.app.Main} picks a command. {@code server} and {@code migrate} are here; every
 * other command is a thin client of the HTTP API in {@link carillon.cli}. {@link
 * carillon.app.config.ConfigLoader} alone reads flags, variables and files, and makes one {@link
 * carillon.app.config.Config}. {@link carillon.app.Wiring} is the map of the system: what is
 * constructed from what, started in that order and closed in the reverse. {@link
 * carillon.app.postgres.EmbeddedPostgres} is the database for those who have none.
 *
 * <p>May use every other room, and is used by none. The one invariant: whatever goes wrong before
 * the program runs ends it with one line on stderr and status 2, never with a stack trace.
 */
@NullMarked
package carillon.app;

import org.jspecify.annotations.NullMarked;
