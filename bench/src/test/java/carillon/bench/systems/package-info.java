@NullMarked
package carillon.bench.systems;

import org.jspecify.annotations.NullMarked;
