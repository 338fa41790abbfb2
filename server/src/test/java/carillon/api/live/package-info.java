@NullMarked
package carillon.api.live;

import org.jspecify.annotations.NullMarked;
