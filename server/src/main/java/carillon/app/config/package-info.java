/** Reads the configuration from flags, variables and files. */
@NullMarked
package carillon.app.config;

import org.jspecify.annotations.NullMarked;
