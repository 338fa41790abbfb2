@NullMarked
package carillon.bench.report;

import org.jspecify.annotations.NullMarked;
