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
 * One connection with its channels, from its first to its last moment. When one of the channels is
 * closed under it, all of it ends; the publisher makes another one.
 */
final class RabbitLink {

  private static final int CHANNELS = 2;
  private static final int HEARTBEAT_SECONDS = 5;
  private static final int CONNECT_MILLIS = 3_000;
  private static final int ANSWER_MILLIS = 5_000;
  private static final int CLOSE_MILLIS = 1_000;

  /** What is to be told. */
  interface Listener {
    /** The broker wants messages again. */
    void unblocked();

    void lost(String why);

    /** A message that was sent there was not confirmed in time. */
    void unconfirmed(Target.RabbitMq target);
  }

  private final Connection connection;
  private final Exchanges exchanges;
  private final Listener listener;
  private final Valve valve = new Valve();
  private final List<ConfirmingChannel> channels = new ArrayList<>();
  private final AtomicInteger turn = new AtomicInteger();

  /** Messages to exchanges that nobody has looked up yet; guarded by itself. */
  private final Map<String, List<Publication>> unasked = new HashMap<>();

  private volatile @Nullable Function<Publication, DeliveryResult> ending;
  private @Nullable Channel asking; // only for who looks up and counts

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
    factory.setHandshakeTimeout(ANSWER_MILLIS);
    factory.setChannelRpcTimeout(ANSWER_MILLIS);
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
      throw new IOException("the broker allows no further channel");
    }
    return channel;
  }

  boolean isOpen() {
    return ending == null && connection.isOpen();
  }

  /** Whether it takes messages now. */
  boolean isReady() {
    return isOpen() && valve.isOpen();
  }

  String host() {
    return connection.getAddress() + ":" + connection.getPort();
  }

  /** Whether the exchange has to be looked up first; somebody should then call {@link #ask}. */
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
    synchronized (unasked) {
      unasked.computeIfAbsent(exchange, _ -> new ArrayList<>()).add(publication);
    }
    endUnaskedIfOver();
    return true;
  }

  private void send(Publication publication) {
    int next = Math.floorMod(turn.getAndIncrement(), channels.size());
    channels.get(next).add(publication);
  }

  /** Looks up the exchanges that messages wait for. */
  void ask() throws IOException {
    for (String next = firstUnasked(); next != null; next = firstUnasked()) {
      String exchange = next;
      Blame no = ask(channel -> channel.exchangeDeclarePassive(exchange));
      if (no != null && no.isMissing()) {
        exchanges.missing(exchange);
      } else {
        exchanges.found(exchange); // whether we may publish there is said when we do
      }
      List<Publication> waiting;
      synchronized (unasked) {
        waiting = unasked.remove(exchange);
      }
      if (waiting != null) {
        waiting.forEach(this::publish);
      }
    }
  }

  private @Nullable String firstUnasked() {
    synchronized (unasked) {
      return unasked.isEmpty() ? null : unasked.keySet().iterator().next();
    }
  }

  /** The messages that wait in a queue; empty if there is none of this name, or it is not ours. */
  OptionalLong count(String queue) throws IOException {
    long[] messages = {0};
    Blame no = ask(channel -> messages[0] = channel.queueDeclarePassive(queue).getMessageCount());
    return no == null ? OptionalLong.of(messages[0]) : OptionalLong.empty();
  }

  /** A question to which the broker says no by closing the channel. */
  private interface Question {
    void ask(Channel channel) throws IOException;
  }

  /** Null means yes. */
  private @Nullable Blame ask(Question question) throws IOException {
    if (asking == null || !asking.isOpen()) {
      asking = channel();
    }
    try {
      question.ask(asking);
      return null;
    } catch (IOException e) {
      if (e.getCause() instanceof ShutdownSignalException cause && !cause.isHardError()) {
        return Blame.of(cause);
      }
      throw e;
    }
  }

  /**
   * Ends what the broker has not confirmed for very long, as a queue without a majority does, and
   * what could not be sent to it: the lease of each runs meanwhile. Returns how many they were.
   */
  int giveUpOnTheOld() {
    int old = 0;
    for (ConfirmingChannel channel : channels) {
      old += channel.giveUp(System.nanoTime(), listener::unconfirmed);
    }
    return old;
  }

  private void unblocked() {
    valve.open();
    listener.unblocked();
  }

  /** Only who published where the broker does not want it is to blame; the others come again. */
  private void closed(ConfirmingChannel channel, ShutdownSignalException cause) {
    if (ending != null) {
      return;
    }
    Blame blame = Blame.of(cause);
    boolean clear = channel.hasSent(blame::isOn);
    channel.close(
        sent -> {
          if (blame.isOn(sent) && blame.isMissing()) {
            exchanges.missing(sent.target.exchange());
          } else if (blame.isOn(sent) && blame.isRefusal()) {
            exchanges.refused(sent.target.exchange());
          }
          return blame.verdict(sent, clear);
        });
    close(_ -> Publication.unreached("the broker was lost"));
    listener.lost(blame.text());
  }

  /** Ends everything on it, and gives the connection up without waiting long. */
  void close(Function<Publication, DeliveryResult> how) {
    if (ending == null) {
      ending = how;
    }
    channels.forEach(channel -> channel.close(how));
    valve.open();
    endUnaskedIfOver();
    // Not here: who is told of a loss is the connection's own thread.
    Thread.ofVirtual().start(() -> connection.abort(CLOSE_MILLIS));
  }

  /** For who has closed it, and must not go on before everything on it has ended. */
  void awaitEnd() throws InterruptedException {
    for (ConfirmingChannel channel : channels) {
      channel.awaitEnd();
    }
  }

  private void endUnaskedIfOver() {
    Function<Publication, DeliveryResult> how = ending;
    if (how == null) {
      return;
    }
    List<Publication> all = new ArrayList<>();
    synchronized (unasked) {
      unasked.values().forEach(all::addAll);
      unasked.clear();
    }
    all.forEach(publication -> publication.end(how.apply(publication)));
  }
}
