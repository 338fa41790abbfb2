@NullMarked
package carillon.engine;

import org.jspecify.annotations.NullMarked;
