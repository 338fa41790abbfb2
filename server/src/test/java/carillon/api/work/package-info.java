@NullMarked
package carillon.api.work;

import org.jspecify.annotations.NullMarked;
