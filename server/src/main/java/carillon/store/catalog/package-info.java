/**
 * Tenants, API keys, types, lanes and day partitions; the audit of changes to them; stored replies.
 */
@NullMarked
package carillon.store.catalog;

import org.jspecify.annotations.NullMarked;
