package carillon.store;

import java.util.List;
import java.util.Optional;

/** The tenants of the installation. */
public final class Tenants {

  /** From memory when it was read lately (1 s): this is asked with every request. */
  public Optional<Tenant> find(String name) { throw new UnsupportedOperationException(); }

  public List<Tenant> list() { throw new UnsupportedOperationException(); }

  /** Creates or changes. */
  public Tenant put(String name, boolean strict, boolean paused, int weight, String who) { throw new UnsupportedOperationException(); }
}
