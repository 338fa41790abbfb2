@NullMarked
package carillon.chaos.report;

import org.jspecify.annotations.NullMarked;
