/** Guards the connections of clients: framing of requests, time limits, how many there may be. */
@NullMarked
package carillon.api.connection;

import org.jspecify.annotations.NullMarked;
