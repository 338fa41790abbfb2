package carillon.testkit;

import carillon.model.target.StatusRules;
import carillon.model.task.Callbacks;
import carillon.store.catalog.Types;

/** Settings of types that leave everything at its default, except what a test is about. */
public final class TestTypeSettings {

  public static final Types.Settings DEFAULT = withCallbacks(Callbacks.NONE);

  private TestTypeSettings() {}

  public static Types.Settings withCallbacks(Callbacks callbacks) {
    return new Types.Settings(
        null, null, null, null, null, null, false, null, callbacks, StatusRules.DEFAULT, null);
  }
}
