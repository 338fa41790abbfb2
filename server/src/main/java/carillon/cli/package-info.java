/**
 * The commands that call a running server, and their terminal output.
 *
 * <p>Most commands are an {@link carillon.cli.Operation}: a table of options and the fields of one
 * request. The response is printed as text for people or, with {@code --json}, as it is. The server
 * validates values.
 *
 * <p>May use the client module and {@code model}; never the store or the engine. The one invariant:
 * text from a tenant is printed through {@link carillon.cli.Text#visible}, so that it cannot move
 * the cursor or forge a line.
 */
@NullMarked
package carillon.cli;

import org.jspecify.annotations.NullMarked;
