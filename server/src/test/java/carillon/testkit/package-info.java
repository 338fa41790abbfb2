/** Fixtures of the tests: a real PostgreSQL, a store on it, receivers and brokers. */
@NullMarked
package carillon.testkit;

import org.jspecify.annotations.NullMarked;
