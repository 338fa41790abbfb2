@NullMarked
package carillon.model.task;

import org.jspecify.annotations.NullMarked;
