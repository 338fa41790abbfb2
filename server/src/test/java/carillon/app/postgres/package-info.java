@NullMarked
package carillon.app.postgres;

import org.jspecify.annotations.NullMarked;
