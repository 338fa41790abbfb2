/** The measured systems, and the stores and brokers that they need. */
@NullMarked
package carillon.bench.systems;

import org.jspecify.annotations.NullMarked;
