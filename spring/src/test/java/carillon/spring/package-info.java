/** Tests of the starter without a server. The examples test it with one. */
@NullMarked
package carillon.spring;

import org.jspecify.annotations.NullMarked;
