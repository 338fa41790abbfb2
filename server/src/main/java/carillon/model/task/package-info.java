/** Tasks and types: their states, claims, attempts, outcomes, retries and quotas. */
@NullMarked
package carillon.model.task;

import org.jspecify.annotations.NullMarked;
