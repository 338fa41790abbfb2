/** The scenarios, and what they need to measure a system. */
@NullMarked
package carillon.bench.scenarios;

import org.jspecify.annotations.NullMarked;
