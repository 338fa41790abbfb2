@NullMarked
package carillon.bench.dashboard;

import org.jspecify.annotations.NullMarked;
