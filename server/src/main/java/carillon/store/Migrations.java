package carillon.store;

import java.util.List;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** Brings the schema to a version, forward or backward. */
public final class Migrations {

  /** One migration script, or its reverse. */
  public record Step(int version, String name, boolean forward, String sql) {}

  private Migrations() {}

  @SuppressWarnings("DoNotCallSuggester")
  public static Migrations open(String jdbcUrl, String user, @Nullable String password) {
    throw new StoreException("not written yet", null);
  }

  /** What {@link #apply} would run, in that order. */
  @SuppressWarnings("DoNotCallSuggester")
  public List<Step> plan(OptionalInt to) {
    throw new StoreException("not written yet", null);
  }

  @SuppressWarnings("DoNotCallSuggester")
  public void apply(OptionalInt to) {
    throw new StoreException("not written yet", null);
  }

  public int current() {
    return 0;
  }

  public int latest() {
    return 0;
  }
}
