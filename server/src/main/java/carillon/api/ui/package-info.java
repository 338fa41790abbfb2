/** Serves the files of the dashboard. */
@NullMarked
package carillon.api.ui;

import org.jspecify.annotations.NullMarked;
