@NullMarked
package carillon.api.ui;

import org.jspecify.annotations.NullMarked;
