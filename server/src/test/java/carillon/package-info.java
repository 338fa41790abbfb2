/** Tests of the whole repository: dependencies between layers, and names in documents. */
@NullMarked
package carillon;

import org.jspecify.annotations.NullMarked;
