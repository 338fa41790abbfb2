/** The Spring Boot starter: configures the client and runs bean methods as task handlers. */
@NullMarked
package carillon.spring;

import org.jspecify.annotations.NullMarked;
