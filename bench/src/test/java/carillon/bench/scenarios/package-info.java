@NullMarked
package carillon.bench.scenarios;

import org.jspecify.annotations.NullMarked;
