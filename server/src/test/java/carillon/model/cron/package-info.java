@NullMarked
package carillon.model.cron;

import org.jspecify.annotations.NullMarked;
