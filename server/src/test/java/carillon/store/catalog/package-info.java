@NullMarked
package carillon.store.catalog;

import org.jspecify.annotations.NullMarked;
