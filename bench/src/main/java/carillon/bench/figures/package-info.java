/** What a run measured: metrics, percentiles and results. */
@NullMarked
package carillon.bench.figures;

import org.jspecify.annotations.NullMarked;
