/** Runs one node under a steady load for an hour and watches what grows. */
@NullMarked
package carillon.bench.soak;

import org.jspecify.annotations.NullMarked;
