@NullMarked
package carillon.bench.soak;

import org.jspecify.annotations.NullMarked;
