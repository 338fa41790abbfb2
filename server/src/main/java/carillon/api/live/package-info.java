/** The statistics of the dashboard, and the event streams that keep it up to date. */
@NullMarked
package carillon.api.live;

import org.jspecify.annotations.NullMarked;
