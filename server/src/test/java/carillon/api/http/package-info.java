@NullMarked
package carillon.api.http;

import org.jspecify.annotations.NullMarked;
