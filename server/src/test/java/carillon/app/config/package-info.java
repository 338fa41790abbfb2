@NullMarked
package carillon.app.config;

import org.jspecify.annotations.NullMarked;
