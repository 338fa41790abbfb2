/** Keeps tasks and your own PostgreSQL database consistent: a ledger and an outbox. */
@NullMarked
package carillon.client.sql;

import org.jspecify.annotations.NullMarked;
