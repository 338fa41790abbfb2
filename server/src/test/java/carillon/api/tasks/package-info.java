@NullMarked
package carillon.api.tasks;

import org.jspecify.annotations.NullMarked;
