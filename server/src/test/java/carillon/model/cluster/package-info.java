@NullMarked
package carillon.model.cluster;

import org.jspecify.annotations.NullMarked;
