/** Schedules, and the pure decisions about which of their nominal times become tasks. */
@NullMarked
package carillon.model.schedule;

import org.jspecify.annotations.NullMarked;
