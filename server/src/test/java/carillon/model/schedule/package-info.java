@NullMarked
package carillon.model.schedule;

import org.jspecify.annotations.NullMarked;
