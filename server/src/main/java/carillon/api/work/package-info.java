/** The endpoints for workers: claim, report and renew. */
@NullMarked
package carillon.api.work;

import org.jspecify.annotations.NullMarked;
