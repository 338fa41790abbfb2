/** Connections, transactions, migrations, and how values cross into PostgreSQL and back. */
@NullMarked
package carillon.store.db;

import org.jspecify.annotations.NullMarked;
