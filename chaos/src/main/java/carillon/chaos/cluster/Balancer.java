package carillon.chaos.cluster;

import java.net.URI;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Chooses a node for each call of one caller: the same node while it responds, then another. */
public final class Balancer {

  private static final int SWITCH_PERCENT = 5;

  private final Cluster cluster;
  private final SplittableRandom random;
  private @Nullable Node current;

  public Balancer(Cluster cluster, SplittableRandom random) {
    this.cluster = cluster;
    this.random = random;
  }

  /** The node for the next call, which may be down; null if no node was ever ready. */
  public synchronized @Nullable Node next() {
    List<Node> nodes = cluster.nodes();
    if (current == null || !nodes.contains(current) || random.nextInt(100) < SWITCH_PERCENT) {
      current = other(nodes);
    }
    return current;
  }

  private @Nullable Node other(List<Node> nodes) {
    List<Node> others =
        nodes.stream().filter(node -> node.url() != null && !node.equals(current)).toList();
    return others.isEmpty() ? current : others.get(random.nextInt(others.size()));
  }

  public Api.Reply call(@Nullable Node node, Api.Call call) throws InterruptedException {
    URI url = node == null ? null : node.url();
    Api.Reply reply =
        url == null ? new Api.Reply.NotSent("no node") : cluster.api().send(url, call);
    if (!(reply instanceof Api.Reply.Answered answered) || answered.status() >= 500) {
      synchronized (this) {
        current = other(cluster.nodes());
      }
    }
    return reply;
  }
}
