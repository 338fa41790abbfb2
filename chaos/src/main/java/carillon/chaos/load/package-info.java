/** The traffic on the cluster: tenants, clients, workers, schedules and receivers. */
@NullMarked
package carillon.chaos.load;

import org.jspecify.annotations.NullMarked;
