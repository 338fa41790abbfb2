package carillon.store;

import org.jspecify.annotations.Nullable;

/** The database did not do what it was asked. */
public class StoreException extends RuntimeException {

  private static final long serialVersionUID = 1;

  public StoreException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
