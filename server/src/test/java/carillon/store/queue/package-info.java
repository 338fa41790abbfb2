@NullMarked
package carillon.store.queue;

import org.jspecify.annotations.NullMarked;
