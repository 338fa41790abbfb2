/** Measures the dashboard of an installation with millions of tasks. */
@NullMarked
package carillon.bench.dashboard;

import org.jspecify.annotations.NullMarked;
