@NullMarked
package carillon.client.broker;

import org.jspecify.annotations.NullMarked;
