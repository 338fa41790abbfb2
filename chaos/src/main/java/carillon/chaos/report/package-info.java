/** Writes down what came of runs: a page for people, figures for programs, a chart of each seed. */
@NullMarked
package carillon.chaos.report;

import org.jspecify.annotations.NullMarked;
