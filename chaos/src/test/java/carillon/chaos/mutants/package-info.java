@NullMarked
package carillon.chaos.mutants;

import org.jspecify.annotations.NullMarked;
