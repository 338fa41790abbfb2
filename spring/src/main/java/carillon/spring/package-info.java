/** Carillon in a Spring Boot application: the client, and bean methods that do tasks. */
@NullMarked
package carillon.spring;

import org.jspecify.annotations.NullMarked;
