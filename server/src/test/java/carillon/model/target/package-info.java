@NullMarked
package carillon.model.target;

import org.jspecify.annotations.NullMarked;
