@NullMarked
package carillon.bench.figures;

import org.jspecify.annotations.NullMarked;
