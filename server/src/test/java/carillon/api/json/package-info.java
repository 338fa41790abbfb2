@NullMarked
package carillon.api.json;

import org.jspecify.annotations.NullMarked;
