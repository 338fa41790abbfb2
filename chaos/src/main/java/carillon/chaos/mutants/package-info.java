/**
 * Mutants: programs with one deliberate defect, made from the classes of the built server, each
 * with the rule that must report it. They prove that the rules can find defects.
 */
@NullMarked
package carillon.chaos.mutants;

import org.jspecify.annotations.NullMarked;
