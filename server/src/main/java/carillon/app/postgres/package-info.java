/** Runs the embedded PostgreSQL. */
@NullMarked
package carillon.app.postgres;

import org.jspecify.annotations.NullMarked;
