@NullMarked
package carillon.store.cluster;

import org.jspecify.annotations.NullMarked;
