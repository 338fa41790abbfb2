package carillon.delivery.rabbitmq;

import carillon.model.target.Target;
import carillon.model.task.DeliveryResult;
import com.rabbitmq.client.Address;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.IOException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One connection with its channels. If the broker closes a channel, the whole link ends, and the
 * publisher opens another one.
 */
final class RabbitLink {

  private static final int CHANNELS = 2;
  private static final int HEARTBEAT_SECONDS = 5;
  private static final int CONNECT_MILLIS = 3_000;
  private static final int RESPONSE_MILLIS = 5_000;
  private static final int CLOSE_MILLIS = 1_000;

  /** Notified of changes of the connection. */
  interface Listener {
    /** The broker accepts messages again. */
    void unblocked();

    void lost(String why);

    /** A message to this target was not confirmed in time. */
    void unconfirmed(Target.RabbitMq target);
  }

  private final Connection connection;
  private final Exchanges exchanges;
  private final Listener listener;
  private final Valve valve = new Valve();
  private final List<ConfirmingChannel> channels = new ArrayList<>();
  private final AtomicInteger turn = new AtomicInteger();

  /** Messages to exchanges that were not looked up yet; guarded by itself. */
  private final Map<String, List<Publication>> waitingForLookup = new HashMap<>();

  private volatile @Nullable Function<Publication, DeliveryResult> ending;
  private @Nullable Channel queryChannel; // used by the publisher's thread only

  private RabbitLink(Connection connection, Exchanges exchanges, Listener listener) {
    this.connection = connection;
    this.exchanges = exchanges;
    this.listener = listener;
  }

  /** Connects to the first host that answers. */
  static RabbitLink open(
      RabbitCluster cluster,
      int firstHost,
      Exchanges exchanges,
      InstantSource clock,
      Listener listener)
      throws IOException, TimeoutException {
    List<Address> hosts = new ArrayList<>();
    cluster.hosts().forEach(host -> hosts.add(new Address(host.name(), host.port())));
    Collections.rotate(hosts, -(firstHost % hosts.size()));
    String name = "rabbitmq-" + cluster.name();
    var link =
        new RabbitLink(factory(cluster).newConnection(hosts, "carillon"), exchanges, listener);
    try {
      link.connection.addBlockedListener(_ -> link.valve.shut(), link::unblocked);
      for (int i = 0; i < CHANNELS; i++) {
        link.channels.add(
            ConfirmingChannel.open(
                link.channel(), link.valve, name + "-" + i, clock, link::closed));
      }
      return link;
    } catch (IOException | RuntimeException e) {
      link.close(_ -> Publication.unreached("the broker was lost"));
      throw e;
    }
  }

  private static ConnectionFactory factory(RabbitCluster cluster) {
    var factory = new ConnectionFactory();
    factory.setUsername(cluster.user());
    factory.setPassword(cluster.password());
    factory.setVirtualHost(cluster.virtualHost());
    factory.setAutomaticRecoveryEnabled(false);
    factory.setTopologyRecoveryEnabled(false);
    factory.setConnectionTimeout(CONNECT_MILLIS);
    factory.setHandshakeTimeout(RESPONSE_MILLIS);
    factory.setChannelRpcTimeout(RESPONSE_MILLIS);
    factory.setShutdownTimeout(CLOSE_MILLIS);
    factory.setRequestedHeartbeat(HEARTBEAT_SECONDS);
    factory.setThreadFactory(
        Thread.ofPlatform().daemon().name("rabbitmq-" + cluster.name() + "-io-", 0).factory());
    if (cluster.tls() != null) {
      factory.useSslProtocol(cluster.tls());
      factory.enableHostnameVerification();
    }
    return factory;
  }

  private Channel channel() throws IOException {
    Channel channel = connection.createChannel();
    if (channel == null) {
      throw new IOException("the broker allows no more channels");
    }
    return channel;
  }

  boolean isOpen() {
    return ending == null && connection.isOpen();
  }

  /** Whether it accepts messages now. */
  boolean isReady() {
    return isOpen() && valve.isOpen();
  }

  String host() {
    return connection.getAddress() + ":" + connection.getPort();
  }

  /** Returns true if the exchange must be looked up first, by {@link #lookUpExchanges}. */
  boolean publish(Publication publication) {
    String exchange = publication.target.exchange();
    Optional<DeliveryResult> problem = exchanges.problem(exchange);
    if (problem.isPresent()) {
      publication.end(problem.get());
      return false;
    }
    if (exchanges.isFound(exchange)) {
      send(publication);
      return false;
    }
    synchronized (waitingForLookup) {
      waitingForLookup.computeIfAbsent(exchange, _ -> new ArrayList<>()).add(publication);
    }
    endWaitingIfClosed();
    return true;
  }

  private void send(Publication publication) {
    int next = Math.floorMod(turn.getAndIncrement(), channels.size());
    channels.get(next).add(publication);
  }

  /** Looks up the exchanges that messages wait for. */
  void lookUpExchanges() throws IOException {
    for (String next = nextLookup(); next != null; next = nextLookup()) {
      String exchange = next;
      Blame error = query(channel -> channel.exchangeDeclarePassive(exchange));
      if (error != null && error.isMissing()) {
        exchanges.missing(exchange);
      } else {
        exchanges.found(exchange); // missing permission shows only when publishing
      }
      List<Publication> waiting;
      synchronized (waitingForLookup) {
        waiting = waitingForLookup.remove(exchange);
      }
      if (waiting != null) {
        waiting.forEach(this::publish);
      }
    }
  }

  private @Nullable String nextLookup() {
    synchronized (waitingForLookup) {
      return waitingForLookup.isEmpty() ? null : waitingForLookup.keySet().iterator().next();
    }
  }

  /** The number of messages in a queue; empty if it does not exist or may not be read. */
  OptionalLong count(String queue) throws IOException {
    long[] messages = {0};
    Blame error =
        query(channel -> messages[0] = channel.queueDeclarePassive(queue).getMessageCount());
    return error == null ? OptionalLong.of(messages[0]) : OptionalLong.empty();
  }

  /** A query that the broker rejects by closing the channel. */
  private interface Query {
    void run(Channel channel) throws IOException;
  }

  /** Returns why the broker rejected the query, or null if it did not. */
  private @Nullable Blame query(Query query) throws IOException {
    if (queryChannel == null || !queryChannel.isOpen()) {
      queryChannel = channel();
    }
    try {
      query.run(queryChannel);
      return null;
    } catch (IOException e) {
      if (e.getCause() instanceof ShutdownSignalException cause && !cause.isHardError()) {
        return Blame.of(cause);
      }
      throw e;
    }
  }

  /**
   * Ends messages that could not be sent, or were not confirmed, in time (a queue without its
   * majority does not confirm): their leases keep running. Returns their number.
   */
  int endTimedOut() {
    int timedOut = 0;
    for (ConfirmingChannel channel : channels) {
      timedOut += channel.endTimedOut(System.nanoTime(), listener::unconfirmed);
    }
    return timedOut;
  }

  private void unblocked() {
    valve.open();
    listener.unblocked();
  }

  /** Only the messages that made the broker close the channel fail; the others are sent again. */
  private void closed(ConfirmingChannel channel, ShutdownSignalException cause) {
    if (ending != null) {
      return;
    }
    Blame blame = Blame.of(cause);
    boolean isCauseKnown = channel.hasUnconfirmed(blame::isOn);
    channel.close(
        sent -> {
          if (blame.isOn(sent) && blame.isMissing()) {
            exchanges.missing(sent.target.exchange());
          } else if (blame.isOn(sent) && blame.isRefusal()) {
            exchanges.notAllowed(sent.target.exchange());
          }
          return blame.resultOf(sent, isCauseKnown);
        });
    close(_ -> Publication.unreached("the broker was lost"));
    listener.lost(blame.text());
  }

  /** Ends every message on this connection, and closes it in the background. */
  void close(Function<Publication, DeliveryResult> how) {
    if (ending == null) {
      ending = how;
    }
    channels.forEach(channel -> channel.close(how));
    valve.open();
    endWaitingIfClosed();
    // On another thread, because a lost connection is reported on the connection's own thread.
    Thread.ofVirtual().start(() -> connection.abort(CLOSE_MILLIS));
  }

  /** Called after close(): waits until every message on this connection has ended. */
  void awaitEnd() throws InterruptedException {
    for (ConfirmingChannel channel : channels) {
      channel.awaitEnd();
    }
  }

  private void endWaitingIfClosed() {
    Function<Publication, DeliveryResult> how = ending;
    if (how == null) {
      return;
    }
    List<Publication> all = new ArrayList<>();
    synchronized (waitingForLookup) {
      waitingForLookup.values().forEach(all::addAll);
      waitingForLookup.clear();
    }
    all.forEach(publication -> publication.end(how.apply(publication)));
  }
}
