/** The starter without a server; the sample application has one. */
@NullMarked
package carillon.spring;

import org.jspecify.annotations.NullMarked;
