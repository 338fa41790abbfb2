package carillon.delivery.rabbitmq;

import carillon.delivery.Backoff;
import carillon.delivery.Publisher;
import carillon.model.Signal;
import carillon.model.target.BrokerName;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes to one RabbitMQ cluster with publisher confirms. Its thread maintains the connection,
 * looks up exchanges and counts queues.
 */
public final class RabbitPublisher implements Publisher {

  private static final Logger log = LoggerFactory.getLogger(RabbitPublisher.class);

  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final Duration FIRST_RECONNECT = Duration.ofMillis(20);

  private final RabbitCluster cluster;
  private final BrokerName name;
  private final InstantSource clock;
  private final Exchanges exchanges = new Exchanges();
  private final RouteBackoff routes = new RouteBackoff(System::nanoTime);
  private final QueueDepths depths = new QueueDepths();
  private final UnconfirmedBytes unconfirmed = new UnconfirmedBytes();
  private final Signal ready = new Signal();
  private final Semaphore wakeUps = new Semaphore(0);
  private final Thread thread;

  private volatile @Nullable RabbitLink link;
  private volatile boolean isClosed;
  private Duration reconnectPause = Duration.ZERO; // used by the thread only
  private int failedConnects; // used by the thread only

  private RabbitPublisher(RabbitCluster cluster, InstantSource clock) {
    this.cluster = cluster;
    this.name = new BrokerName(BrokerName.Kind.RABBITMQ, cluster.name());
    this.clock = clock;
    this.thread = Thread.ofVirtual().name("rabbitmq-" + cluster.name()).unstarted(this::run);
  }

  /** Starts connecting; returns before the broker is reached. */
  public static RabbitPublisher start(RabbitCluster cluster, InstantSource clock) {
    var publisher = new RabbitPublisher(cluster, clock);
    publisher.thread.start();
    return publisher;
  }

  @Override
  public BrokerName name() {
    return name;
  }

  @Override
  public boolean isReachable() {
    RabbitLink current = link;
    return current != null && current.isReady();
  }

  @Override
  public boolean isFull() {
    return unconfirmed.isFull();
  }

  @Override
  public Duration confirmTimeout() {
    return ConfirmingChannel.SEND_TIMEOUT.plus(ConfirmingChannel.CONFIRM_TIMEOUT);
  }

  @Override
  public int remainingCapacity(Target.Broker target) {
    if (!isReachable()) {
      return 0;
    }
    if (target instanceof Target.RabbitMq to && routes.isPaused(to)) {
      return 0;
    }
    Target.DepthLimit limit = target.depth();
    if (limit == null) {
      return Integer.MAX_VALUE;
    }
    int capacity = depths.remainingCapacity(limit);
    if (depths.hasUnmeasured()) {
      wakeUps.release();
    }
    return capacity;
  }

  @Override
  public Map<String, Long> depths() {
    return depths.known();
  }

  @Override
  public Signal ready() {
    return ready;
  }

  @Override
  public void publish(List<ClaimedTask> tasks, BiConsumer<ClaimedTask, DeliveryResult> ended) {
    RabbitLink current = link;
    boolean needsLookup = false;
    for (ClaimedTask task : tasks) {
      if (isClosed) {
        ended.accept(task, new DeliveryResult.Interrupted());
      } else if (current == null || !(task.target() instanceof Target.RabbitMq target)) {
        ended.accept(task, Publication.unreached("the broker is unreachable"));
      } else if (routes.isPaused(target)) {
        ended.accept(
            task, Publication.unreached("the queue did not confirm earlier messages in time"));
      } else {
        needsLookup |= current.publish(publication(task, target, ended));
      }
    }
    if (needsLookup) {
      wakeUps.release();
    }
  }

  private Publication publication(
      ClaimedTask task, Target.RabbitMq target, BiConsumer<ClaimedTask, DeliveryResult> ended) {
    long size = UnconfirmedBytes.sizeOf(task);
    unconfirmed.add(size);
    return new Publication(
        task,
        target,
        depths.begin(target),
        (each, result) -> {
          boolean wasFull = unconfirmed.remove(size);
          ended.accept(each, result);
          if (wasFull) {
            ready.raise();
          }
        });
  }

  private void run() {
    while (!isClosed) {
      RabbitLink current = link;
      try {
        if (current == null || !current.isOpen()) {
          connect();
        } else {
          maintain(current);
        }
      } catch (IOException | TimeoutException | RuntimeException e) {
        failed(current, e);
      } catch (Throwable e) { // without this thread nothing would be published any more
        log.error("publisher pass failed broker={}", name, e);
        failed(current, e);
      }
      pause();
    }
  }

  private void failed(@Nullable RabbitLink current, Throwable why) {
    if (current != null && current.isOpen()) {
      log.warn("broker does not respond broker={} error={}", name, reason(why));
      current.close(_ -> Publication.unreached("the broker did not respond"));
    } else {
      connectFailed(why);
    }
  }

  private void connect() throws IOException, TimeoutException {
    RabbitLink opened =
        RabbitLink.open(cluster, failedConnects, exchanges, clock, new LinkListener());
    link = opened;
    if (isClosed) {
      opened.close(_ -> new DeliveryResult.Interrupted());
      return;
    }
    reconnectPause = Duration.ZERO;
    failedConnects = 0;
    log.info("broker reachable broker={} host={}", name, opened.host());
    ready.raise();
  }

  private void connectFailed(Throwable why) {
    if (failedConnects == 0) {
      log.warn("broker unreachable broker={} error={}", name, reason(why));
    }
    failedConnects++;
    reconnectPause = Backoff.after(reconnectPause);
  }

  private void maintain(RabbitLink current) throws IOException {
    int timedOut = current.endTimedOut(); // first, because a response may take long
    if (timedOut > 0) {
      log.warn("messages timed out broker={} messages={}", name, timedOut);
    }
    routes.sweep();
    current.lookUpExchanges();
    if (depths.measure(current::count)) {
      ready.raise();
    }
  }

  private void pause() {
    RabbitLink current = link;
    boolean isLost = current == null || !current.isOpen();
    try {
      if (isLost) {
        // Wake-ups do not shorten this pause.
        Thread.sleep(reconnectPause.isZero() ? FIRST_RECONNECT : reconnectPause);
      } else if (wakeUps.tryAcquire(INTERVAL.toMillis(), TimeUnit.MILLISECONDS)) {
        wakeUps.drainPermits();
      }
    } catch (InterruptedException _) {
      // closed
    }
  }

  private static String reason(Throwable e) {
    Throwable cause = e;
    while (cause.getMessage() == null && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return String.valueOf(cause.getMessage() == null ? cause : cause.getMessage());
  }

  private final class LinkListener implements RabbitLink.Listener {
    @Override
    public void unblocked() {
      ready.raise();
    }

    @Override
    public void unconfirmed(Target.RabbitMq target) {
      routes.onUnconfirmed(target);
    }

    @Override
    public void lost(String why) {
      if (!isClosed) {
        log.warn("lost broker connection broker={} error={}", name, why);
        wakeUps.release();
      }
    }
  }

  @Override
  public void close() {
    isClosed = true;
    RabbitLink current = link;
    if (current != null) {
      current.close(_ -> new DeliveryResult.Interrupted());
    }
    thread.interrupt();
    try {
      if (current != null) {
        current.awaitEnd();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }
}
