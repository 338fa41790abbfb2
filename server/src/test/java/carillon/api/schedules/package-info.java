@NullMarked
package carillon.api.schedules;

import org.jspecify.annotations.NullMarked;
