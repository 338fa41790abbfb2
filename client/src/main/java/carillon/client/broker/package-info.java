/** Shared by the broker sources, and for writing your own. */
@NullMarked
package carillon.client.broker;

import org.jspecify.annotations.NullMarked;
