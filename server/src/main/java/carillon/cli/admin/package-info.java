/** The commands for types, API keys and the audit. */
@NullMarked
package carillon.cli.admin;

import org.jspecify.annotations.NullMarked;
