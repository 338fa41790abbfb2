/** Claims due tasks, and writes how each claim ends, with the callbacks and alerts that follow. */
@NullMarked
package carillon.store.queue;

import org.jspecify.annotations.NullMarked;
