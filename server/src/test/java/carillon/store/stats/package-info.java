@NullMarked
package carillon.store.stats;

import org.jspecify.annotations.NullMarked;
