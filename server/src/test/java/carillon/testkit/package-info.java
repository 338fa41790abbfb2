/** What tests share: a real PostgreSQL, a store on it, receivers. */
@NullMarked
package carillon.testkit;

import org.jspecify.annotations.NullMarked;
