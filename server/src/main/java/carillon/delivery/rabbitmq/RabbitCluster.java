package carillon.delivery.rabbitmq;

import java.util.List;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Where a RabbitMQ is, and as whom we come.
 *
 * @param name as targets call it
 * @param hosts nodes of the cluster, any of which will do
 * @param tls null means that the connection is not encrypted
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

  /** One node of it. */
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
