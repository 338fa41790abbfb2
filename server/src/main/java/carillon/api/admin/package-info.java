/** The endpoints for operators: tenants, keys, audit, cluster, storage, health and metrics. */
@NullMarked
package carillon.api.admin;

import org.jspecify.annotations.NullMarked;
