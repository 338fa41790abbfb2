@NullMarked
package carillon.api.targets;

import org.jspecify.annotations.NullMarked;
