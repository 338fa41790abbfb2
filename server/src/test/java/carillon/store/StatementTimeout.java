package carillon.store;

import carillon.store.db.StoreException;

/** The exception of a statement that exceeds its timeout, for tests outside of the store. */
public final class StatementTimeout {

  private StatementTimeout() {}

  public static StoreException failure() {
    return new StoreException("canceling statement due to statement timeout", "57014", null);
  }
}
