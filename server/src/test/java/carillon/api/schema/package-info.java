@NullMarked
package carillon.api.schema;

import org.jspecify.annotations.NullMarked;
