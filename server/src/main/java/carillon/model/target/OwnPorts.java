package carillon.model.target;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The ports of this node and of its database. They are not allowed as targets on this machine: the
 * node would call itself, and the tenant could read the response. Mutable, because ports become
 * known while the node starts.
 */
public final class OwnPorts {

  private final Set<Integer> ports = ConcurrentHashMap.newKeySet();

  public void add(int port) {
    ports.add(port);
  }

  boolean contains(int port) {
    return ports.contains(port);
  }
}
