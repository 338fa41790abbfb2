@NullMarked
package carillon.cluster;

import org.jspecify.annotations.NullMarked;
