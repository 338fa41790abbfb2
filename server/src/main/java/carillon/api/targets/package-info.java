/** Reads targets and retry policies from requests. */
@NullMarked
package carillon.api.targets;

import org.jspecify.annotations.NullMarked;
