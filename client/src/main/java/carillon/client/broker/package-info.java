/** What the sources of brokers have in common; for those who write another one. */
@NullMarked
package carillon.client.broker;

import org.jspecify.annotations.NullMarked;
