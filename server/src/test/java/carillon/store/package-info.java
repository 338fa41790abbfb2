@NullMarked
package carillon.store;

import org.jspecify.annotations.NullMarked;
