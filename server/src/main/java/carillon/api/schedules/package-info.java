/** The endpoints for schedules: create, preview, list fires, trigger and backfill. */
@NullMarked
package carillon.api.schedules;

import org.jspecify.annotations.NullMarked;
