/** What keeps tasks and the user's own PostgreSQL database in step: a ledger and an outbox. */
@NullMarked
package carillon.client.sql;

import org.jspecify.annotations.NullMarked;
