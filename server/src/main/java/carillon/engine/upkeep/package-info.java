/** The loops that only the leader runs: reaping, expiry, planning, retention and archiving. */
@NullMarked
package carillon.engine.upkeep;

import org.jspecify.annotations.NullMarked;
