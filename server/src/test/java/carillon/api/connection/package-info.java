@NullMarked
package carillon.api.connection;

import org.jspecify.annotations.NullMarked;
