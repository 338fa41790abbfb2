@NullMarked
package carillon.store.deadletters;

import org.jspecify.annotations.NullMarked;
