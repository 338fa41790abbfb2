@NullMarked
package carillon.app;

import org.jspecify.annotations.NullMarked;
