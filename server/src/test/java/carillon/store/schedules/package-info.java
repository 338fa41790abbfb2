@NullMarked
package carillon.store.schedules;

import org.jspecify.annotations.NullMarked;
