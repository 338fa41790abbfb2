/** Tests of the Java client with a real server. */
@NullMarked
package carillon.client;

import org.jspecify.annotations.NullMarked;
