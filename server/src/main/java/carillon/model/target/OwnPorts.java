package carillon.model.target;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The ports of this node and of its database. A target on this machine must not lead there: the
 * node would call itself, with an answer that the tenant can read. Ports become known while a node
 * starts, so this one thing about the rules for targets can change.
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
