/** The dashboard in a real browser, against the real program. */
@NullMarked
package carillon.browser;

import org.jspecify.annotations.NullMarked;
