@NullMarked
package carillon.chaos.load;

import org.jspecify.annotations.NullMarked;
