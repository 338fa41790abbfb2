@NullMarked
package carillon.chaos;

import org.jspecify.annotations.NullMarked;
