@NullMarked
package carillon.chaos.cluster;

import org.jspecify.annotations.NullMarked;
