@NullMarked
package carillon.chaos.faults;

import org.jspecify.annotations.NullMarked;
