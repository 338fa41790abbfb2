/** The only room that speaks SQL. */
@NullMarked
package carillon.store;

import org.jspecify.annotations.NullMarked;
