@NullMarked
package carillon.chaos.history;

import org.jspecify.annotations.NullMarked;
