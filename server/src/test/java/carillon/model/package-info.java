@NullMarked
package carillon.model;

import org.jspecify.annotations.NullMarked;
