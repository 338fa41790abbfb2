package carillon.chaos.cluster;

import java.net.URI;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Chooses a node for each call of one caller: the same as long as it answers, then another. */
public final class Balancer {

  private static final int HOP_PERCENT = 5;

  private final Cluster cluster;
  private final SplittableRandom random;
  private @Nullable Node current;

  public Balancer(Cluster cluster, SplittableRandom random) {
    this.cluster = cluster;
    this.random = random;
  }

  /** The node for the next call; null if none has ever been ready. It may well be dead. */
  public synchronized @Nullable Node next() {
    List<Node> nodes = cluster.nodes();
    if (current == null || !nodes.contains(current) || random.nextInt(100) < HOP_PERCENT) {
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
