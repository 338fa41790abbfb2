/** The scenarios, and what each of them needs to measure a system. */
@NullMarked
package carillon.bench.scenarios;

import org.jspecify.annotations.NullMarked;
