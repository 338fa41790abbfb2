package carillon.store;

import carillon.store.db.StoreException;

/** What a statement ends with that takes too long, for tests outside of the store. */
public final class StatementTimeout {

  private StatementTimeout() {}

  public static StoreException failure() {
    return new StoreException("canceling statement due to statement timeout", "57014", null);
  }
}
