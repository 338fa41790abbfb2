/** The figures of the dashboard, and the event streams that keep it current. */
@NullMarked
package carillon.api.live;

import org.jspecify.annotations.NullMarked;
