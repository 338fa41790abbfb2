@NullMarked
package carillon.api.types;

import org.jspecify.annotations.NullMarked;
