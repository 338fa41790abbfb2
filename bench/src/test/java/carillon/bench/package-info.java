@NullMarked
package carillon.bench;

import org.jspecify.annotations.NullMarked;
