package carillon.delivery.rabbitmq;

import java.util.List;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * The address and credentials of a RabbitMQ cluster.
 *
 * @param name the name that targets use
 * @param hosts nodes of the cluster, tried in turn
 * @param tls null for an unencrypted connection
 */
public record RabbitCluster(
    String name,
    List<Host> hosts,
    String user,
    String password,
    String virtualHost,
    @Nullable SSLContext tls) {

  public RabbitCluster {
    hosts = List.copyOf(hosts);
  }

  /** One node of a cluster. */
  public record Host(String name, int port) {
    @Override
    public String toString() {
      return (name.contains(":") ? "[" + name + "]" : name) + ":" + port;
    }
  }

  /** Without the password. */
  @Override
  public String toString() {
    return name + "=" + (tls == null ? "amqp" : "amqps") + "://" + user + "@" + hosts;
  }
}
