/**
 * The commands that talk to a running server, and what they need of a terminal.
 *
 * <p>Each command is a thin client: it turns options into one request of the HTTP API, and the
 * answer into aligned text for people or, with {@code --json}, prints it as it came. Rules about
 * tasks are the server's; a bad value is refused there.
 *
 * <p>May use the client module and {@code model}; never the store or the engine. The one invariant:
 * text that came from a tenant is shown through {@link carillon.cli.Text#visible}, so that it
 * cannot move the cursor or forge a line.
 */
@NullMarked
package carillon.cli;

import org.jspecify.annotations.NullMarked;
