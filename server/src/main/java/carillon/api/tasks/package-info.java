/** The endpoints for tasks: create, batch, list, show and change. */
@NullMarked
package carillon.api.tasks;

import org.jspecify.annotations.NullMarked;
