/** Reports the results of runs: a page, the same as JSON, and a chart of each seed. */
@NullMarked
package carillon.chaos.report;

import org.jspecify.annotations.NullMarked;
