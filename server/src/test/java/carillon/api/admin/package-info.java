@NullMarked
package carillon.api.admin;

import org.jspecify.annotations.NullMarked;
