/** Writes results as tables, charts and pages, and compares them with the targets. */
@NullMarked
package carillon.bench.report;

import org.jspecify.annotations.NullMarked;
