/** What tests of several rooms share. */
@NullMarked
package carillon.testkit;

import org.jspecify.annotations.NullMarked;
