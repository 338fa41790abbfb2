@NullMarked
package carillon.engine.upkeep;

import org.jspecify.annotations.NullMarked;
