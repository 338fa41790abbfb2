@NullMarked
package carillon.chaos.rules;

import org.jspecify.annotations.NullMarked;
