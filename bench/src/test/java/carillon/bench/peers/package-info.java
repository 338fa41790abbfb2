@NullMarked
package carillon.bench.peers;

import org.jspecify.annotations.NullMarked;
