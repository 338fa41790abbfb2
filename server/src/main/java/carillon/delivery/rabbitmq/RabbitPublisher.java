package carillon.delivery.rabbitmq;

import carillon.delivery.Backoff;
import carillon.delivery.Publisher;
import carillon.model.target.BrokerName;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes to one RabbitMQ cluster with confirms. A thread of its own keeps the connection, looks
 * up exchanges and counts queues.
 */
public final class RabbitPublisher implements Publisher {

  private static final Logger log = LoggerFactory.getLogger(RabbitPublisher.class);

  private static final Duration BETWEEN_LOOKS = Duration.ofSeconds(1);
  private static final Duration AT_ONCE = Duration.ofMillis(20);

  private final RabbitCluster cluster;
  private final BrokerName name;
  private final InstantSource clock;
  private final Exchanges exchanges = new Exchanges();
  private final RouteBackoff places = new RouteBackoff(System::nanoTime);
  private final QueueDepths depths = new QueueDepths();
  private final UnconfirmedBytes held = new UnconfirmedBytes();
  private final List<Runnable> whenReady = new CopyOnWriteArrayList<>();
  private final Semaphore wakeUps = new Semaphore(0);
  private final Thread keeper;

  private volatile @Nullable RabbitLink link;
  private volatile boolean isClosed;
  private Duration retry = Duration.ZERO; // only for the keeper
  private int tries; // only for the keeper

  private RabbitPublisher(RabbitCluster cluster, InstantSource clock) {
    this.cluster = cluster;
    this.name = new BrokerName(BrokerName.Kind.RABBITMQ, cluster.name());
    this.clock = clock;
    this.keeper = Thread.ofVirtual().name("rabbitmq-" + cluster.name()).unstarted(this::keep);
  }

  /** Returns at once; whether the broker is there shows later. */
  public static RabbitPublisher start(RabbitCluster cluster, InstantSource clock) {
    var publisher = new RabbitPublisher(cluster, clock);
    publisher.keeper.start();
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
    return held.isFull();
  }

  @Override
  public Duration patience() {
    return ConfirmingChannel.SENT_WITHIN.plus(ConfirmingChannel.CONFIRMED_WITHIN);
  }

  @Override
  public int room(Target.Broker target) {
    if (!isReachable()) {
      return 0;
    }
    if (target instanceof Target.RabbitMq to && places.isResting(to)) {
      return 0;
    }
    Target.DepthLimit limit = target.depth();
    if (limit == null) {
      return Integer.MAX_VALUE;
    }
    int room = depths.room(limit);
    if (depths.hasNew()) {
      wakeUps.release();
    }
    return room;
  }

  @Override
  public Map<String, Long> depths() {
    return depths.known();
  }

  @Override
  public void whenReady(Runnable action) {
    whenReady.add(action);
  }

  @Override
  public void publish(List<ClaimedTask> tasks, BiConsumer<ClaimedTask, DeliveryResult> ended) {
    RabbitLink current = link;
    boolean asks = false;
    for (ClaimedTask task : tasks) {
      if (isClosed) {
        ended.accept(task, new DeliveryResult.Interrupted());
      } else if (current == null || !(task.target() instanceof Target.RabbitMq target)) {
        ended.accept(task, Publication.unreached("the broker is not there"));
      } else if (places.isResting(target)) {
        ended.accept(task, Publication.unreached("the queue has not confirmed others lately"));
      } else {
        asks |= current.publish(publication(task, target, ended));
      }
    }
    if (asks) {
      wakeUps.release();
    }
  }

  private Publication publication(
      ClaimedTask task, Target.RabbitMq target, BiConsumer<ClaimedTask, DeliveryResult> ended) {
    long size = UnconfirmedBytes.sizeOf(task);
    held.add(size);
    return new Publication(
        task,
        target,
        depths.handIn(target),
        (each, result) -> {
          boolean hasRoom = held.remove(size);
          ended.accept(each, result);
          if (hasRoom) {
            ready();
          }
        });
  }

  private void keep() {
    while (!isClosed) {
      RabbitLink current = link;
      try {
        if (current == null || !current.isOpen()) {
          connect();
        } else {
          look(current);
        }
      } catch (IOException | TimeoutException | RuntimeException e) {
        failed(current, e);
      } catch (Throwable e) { // without this thread nothing would ever be published again
        log.error("broker={} failed in an unforeseen way", name, e);
        failed(current, e);
      }
      pause();
    }
  }

  private void failed(@Nullable RabbitLink current, Throwable why) {
    if (current != null && current.isOpen()) {
      log.warn("broker={} does not answer: {}", name, reason(why));
      current.close(_ -> Publication.unreached("the broker did not answer"));
    } else {
      missed(why);
    }
  }

  private void connect() throws IOException, TimeoutException {
    RabbitLink opened = RabbitLink.open(cluster, tries, exchanges, clock, new Ears());
    link = opened;
    if (isClosed) {
      opened.close(_ -> new DeliveryResult.Interrupted());
      return;
    }
    retry = Duration.ZERO;
    tries = 0;
    log.info("broker={} answers at {}", name, opened.host());
    ready();
  }

  private void missed(Throwable why) {
    if (tries == 0) {
      log.warn("broker={} cannot be reached: {}", name, reason(why));
    }
    tries++;
    retry = Backoff.after(retry);
  }

  private void look(RabbitLink current) throws IOException {
    int old = current.giveUpOnTheOld(); // first, because an answer may take long
    if (old > 0) {
      log.warn("broker={} has not taken or confirmed messages={} in time", name, old);
    }
    places.sweep();
    current.ask();
    if (depths.measure(current::count)) {
      ready();
    }
  }

  private void pause() {
    RabbitLink current = link;
    boolean isLost = current == null || !current.isOpen();
    try {
      if (isLost) {
        // Nobody can make the broker come sooner.
        Thread.sleep(retry.isZero() ? AT_ONCE : retry);
      } else if (wakeUps.tryAcquire(BETWEEN_LOOKS.toMillis(), TimeUnit.MILLISECONDS)) {
        wakeUps.drainPermits();
      }
    } catch (InterruptedException _) {
      // closed
    }
  }

  private void ready() {
    whenReady.forEach(Runnable::run);
  }

  private static String reason(Throwable e) {
    Throwable cause = e;
    while (cause.getMessage() == null && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return String.valueOf(cause.getMessage() == null ? cause : cause.getMessage());
  }

  /** Hears what happens to the connection. */
  private final class Ears implements RabbitLink.Listener {
    @Override
    public void unblocked() {
      ready();
    }

    @Override
    public void unconfirmed(Target.RabbitMq target) {
      places.doubt(target);
    }

    @Override
    public void lost(String why) {
      if (!isClosed) {
        log.warn("broker={} was lost: {}", name, why);
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
    keeper.interrupt();
    try {
      if (current != null) {
        current.awaitEnd();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }
}
