/** Tests of the whole: how the rooms depend on one another. */
@NullMarked
package carillon;

import org.jspecify.annotations.NullMarked;
