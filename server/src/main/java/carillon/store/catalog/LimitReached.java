package carillon.store.catalog;

import carillon.model.TenantLimit;

/** The tenant has reached a limit; nothing was created. */
public final class LimitReached extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final TenantLimit limit;
  private final int max;
  private final int index;

  /**
   * @param index which one of several was one too many
   */
  LimitReached(TenantLimit limit, int max, int index) {
    super("the tenant may have at most " + max + " " + limit.label(), null, false, false);
    this.limit = limit;
    this.max = max;
    this.index = index;
  }

  public TenantLimit limit() {
    return limit;
  }

  public int max() {
    return max;
  }

  public int index() {
    return index;
  }

  LimitReached at(int otherIndex) {
    return new LimitReached(limit, max, otherIndex);
  }
}
