/** Creates, reads and changes tasks. */
@NullMarked
package carillon.store.tasks;

import org.jspecify.annotations.NullMarked;
