/** Metrics, percentiles and the results of a run. */
@NullMarked
package carillon.bench.figures;

import org.jspecify.annotations.NullMarked;
