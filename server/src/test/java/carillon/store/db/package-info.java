@NullMarked
package carillon.store.db;

import org.jspecify.annotations.NullMarked;
