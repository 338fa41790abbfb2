@NullMarked
package carillon.api.deadletters;

import org.jspecify.annotations.NullMarked;
