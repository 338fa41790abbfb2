package carillon.delivery.kafka;

import carillon.delivery.MessageHeaders;
import carillon.delivery.Publisher;
import carillon.model.Signal;
import carillon.model.target.BrokerName;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * Kafka's producer never rejects a record: it blocks until it has the topic's metadata and space in
 * its buffer. So the tasks of one call that go to one topic get a thread of their own, which waits
 * for nothing else: for the topic lookup (Topics), for space (InFlight), and at worst for the
 * producer.
 *
 * A message that the producer has accepted ends in its callback within delivery.timeout.ms or, if
 * Kafka's thread has died, in our sweep. Messages not yet handed over end here: as lost while the
 * cluster is unreachable or the topic does not confirm, as interrupted on close.
 */

/** Publishes tasks to one Kafka cluster. */
public final class KafkaPublisher implements Publisher {

  private static final Logger log = LoggerFactory.getLogger(KafkaPublisher.class);

  private static final long OVERHEAD = 700; // the headers, approximately

  /** How long a task may wait before it is handed to the producer. */
  private static final Duration SEND_TIMEOUT = Duration.ofSeconds(3);

  /** Longer than the producer's own timeout: if it passes, the producer's thread has died. */
  private static final Duration FLIGHT_TIMEOUT = KafkaCluster.DELIVERY_TIMEOUT.plusSeconds(2);

  private final KafkaCluster cluster;
  private final InstantSource clock;
  private final Signal ready = new Signal();
  private final ClusterMonitor monitor;
  private final Topics topics;
  private final Depths depths = new Depths(System::nanoTime);
  private final long maxBytes;
  private final InFlight inFlight;
  private final Set<Flight> flights = ConcurrentHashMap.newKeySet();

  /** The threads that hand messages to the producer. Guards itself and {@code closed}. */
  private final Set<Thread> senders = new HashSet<>();

  private boolean closed;

  /** The size of all tasks that have not ended. */
  private final AtomicLong heldBytes = new AtomicLong();

  private KafkaPublisher(KafkaCluster cluster, InstantSource clock) {
    this.cluster = cluster;
    this.clock = clock;
    this.monitor = new ClusterMonitor(cluster, depths, ready, this::sweep);
    this.topics = new Topics(this::lookUp, System::nanoTime);
    this.maxBytes = cluster.maxUnconfirmedBytes();
    this.inFlight = new InFlight(maxBytes);
  }

  /** Starts connecting; returns before the cluster is reached. */
  public static KafkaPublisher start(KafkaCluster cluster, InstantSource clock) {
    var publisher = new KafkaPublisher(cluster, clock);
    publisher.monitor.start();
    return publisher;
  }

  @Override
  public BrokerName name() {
    return cluster.name();
  }

  @Override
  public boolean isReachable() {
    return monitor.link() != null;
  }

  @Override
  public boolean isFull() {
    return heldBytes.get() > maxBytes;
  }

  @Override
  public Duration confirmTimeout() {
    return SEND_TIMEOUT.plus(FLIGHT_TIMEOUT);
  }

  @Override
  public int remainingCapacity(Target.Broker target) {
    if (!(target instanceof Target.Kafka kafka) || isFull() || topics.isPaused(kafka.topic())) {
      return 0;
    }
    Target.DepthLimit limit = kafka.depth();
    return limit == null ? Integer.MAX_VALUE : depths.remainingCapacity(kafka.topic(), limit);
  }

  @Override
  public Map<String, Long> depths() {
    return depths.measured();
  }

  @Override
  public Signal ready() {
    return ready;
  }

  @Override
  public void publish(List<ClaimedTask> tasks, BiConsumer<ClaimedTask, DeliveryResult> ended) {
    Map<String, List<ClaimedTask>> byTopic = new LinkedHashMap<>();
    for (ClaimedTask task : tasks) {
      heldBytes.addAndGet(size(task));
      depths.begun(topic(task)); // now, so that the next remainingCapacity() already counts it
      byTopic.computeIfAbsent(topic(task), _ -> new ArrayList<>()).add(task);
    }
    byTopic.forEach((topic, some) -> start(new Batch(topic, some, ended)));
  }

  private void start(Batch batch) {
    try {
      Thread sender =
          Thread.ofVirtual()
              .name("kafka-" + cluster.name().cluster())
              .unstarted(() -> handOver(batch));
      synchronized (senders) {
        if (!closed) {
          sender.start();
          senders.add(sender);
          return;
        }
      }
      endRest(batch, new DeliveryResult.Interrupted());
    } catch (Error e) { // no memory for a thread
      log.error("cannot start a sender thread broker={}", name(), e);
      endRest(batch, Results.lost());
    }
  }

  /**
   * Ends every task of the batch, whatever happens: a seat that is not released is lost forever.
   */
  private void handOver(Batch batch) {
    DeliveryResult rest = Results.lost();
    try {
      rest = send(batch);
    } catch (InterruptedException _) {
      rest = new DeliveryResult.Interrupted();
    } catch (RuntimeException | Error e) {
      log.error("publish failed broker={}", name(), e);
    } finally {
      endRest(batch, rest);
      synchronized (senders) {
        senders.remove(Thread.currentThread());
        senders.notifyAll();
      }
    }
  }

  /** Returns the result of the tasks that were not handed to the producer. */
  private DeliveryResult send(Batch batch) throws InterruptedException {
    for (ClaimedTask task = batch.first(); task != null; task = batch.first()) {
      Link link = monitor.link();
      long left = batch.since + SEND_TIMEOUT.toNanos() - System.nanoTime();
      if (isClosed()) {
        return new DeliveryResult.Interrupted();
      }
      if (link == null || left <= 0 || topics.isPaused(batch.topic)) {
        return Results.lost();
      }
      Optional<DeliveryResult> problem = topicProblem(batch.topic, left);
      if (problem.isPresent()) {
        return problem.get();
      }
      if (isLapsed(task)) {
        end(batch, batch.take(), Results.tooLate());
      } else if (inFlight.take(batch.topic, size(task))) {
        send(link, batch, batch.take());
      } else {
        inFlight.await(left);
      }
    }
    return Results.lost(); // none are left
  }

  private Optional<DeliveryResult> topicProblem(String topic, long nanos)
      throws InterruptedException {
    try {
      return topics.problem(topic).get(nanos, TimeUnit.NANOSECONDS);
    } catch (ExecutionException | TimeoutException _) {
      return Optional.of(Results.lost());
    }
  }

  private boolean isLapsed(ClaimedTask task) {
    return task.leaseUntil() != null && task.leaseUntil().isBefore(clock.instant());
  }

  private void send(Link link, Batch batch, ClaimedTask task) {
    var flight = new Flight(link, batch, task);
    flights.add(flight);
    try {
      var _ = link.producer().send(message(task, batch.topic), flight::ended);
    } catch (RuntimeException e) { // closed under us, or interrupted
      flight.ended(null, e);
    } catch (Error e) {
      log.error("publish failed broker={}", name(), e);
      flight.ended(null, new TimeoutException());
    }
  }

  /** Called about once a second. */
  private void sweep() {
    topics.sweep();
    long now = System.nanoTime();
    for (Flight flight : flights) {
      if (now - flight.since > FLIGHT_TIMEOUT.toNanos()) {
        monitor.replaceProducer(flight.link); // its thread must have died
        flight.ended(null, new TimeoutException());
      }
    }
  }

  private ProducerRecord<byte[], byte[]> message(ClaimedTask task, String topic) {
    byte[] body = MessageHeaders.body(task);
    String key = task.key() == null ? task.id().toString() : task.key();
    var message =
        new ProducerRecord<byte[], byte[]>(topic, null, key.getBytes(StandardCharsets.UTF_8), body);
    MessageHeaders.of(task, body, clock.instant())
        .forEach(
            (name, value) ->
                message
                    .headers()
                    .add(new RecordHeader(name, value.getBytes(StandardCharsets.UTF_8))));
    return message;
  }

  /** The tasks of one call that go to one topic. Used by one thread. */
  private static final class Batch {
    private final long since = System.nanoTime();
    private final String topic;
    private final List<ClaimedTask> tasks;
    private final BiConsumer<ClaimedTask, DeliveryResult> ended;
    private int taken;

    Batch(String topic, List<ClaimedTask> tasks, BiConsumer<ClaimedTask, DeliveryResult> ended) {
      this.topic = topic;
      this.tasks = tasks;
      this.ended = ended;
    }

    /** The first task not taken yet, or null. */
    @Nullable ClaimedTask first() {
      return taken < tasks.size() ? tasks.get(taken) : null;
    }

    ClaimedTask take() {
      return tasks.get(taken++);
    }
  }

  /** A message that the producer has accepted and not confirmed. */
  private final class Flight {
    private final long since = System.nanoTime();
    private final Link link;
    private final Batch batch;
    private final ClaimedTask task;
    private final AtomicBoolean hasEnded = new AtomicBoolean();

    Flight(Link link, Batch batch, ClaimedTask task) {
      this.link = link;
      this.batch = batch;
      this.task = task;
    }

    void ended(@Nullable RecordMetadata position, @Nullable Exception error) {
      if (hasEnded.getAndSet(true)) {
        return;
      }
      flights.remove(this);
      DeliveryResult result = Results.lost();
      try {
        result = result(position, error);
      } finally {
        inFlight.release(batch.topic, size(task));
        end(batch, task, result);
      }
    }

    private DeliveryResult result(@Nullable RecordMetadata position, @Nullable Exception error) {
      if (error == null && position != null) {
        monitor.onConfirm();
        return new DeliveryResult.Accepted(null, output(position));
      }
      return failure(error == null ? new TimeoutException() : error);
    }

    private DeliveryResult failure(Exception error) {
      if (isClosed()) {
        return new DeliveryResult.Interrupted();
      }
      if (Results.isFatal(error)) {
        monitor.replaceProducer(link);
      } else if (Results.isDoubtful(error)) {
        topics.onUnconfirmed(batch.topic);
        monitor.probeNow();
      }
      return Results.of(error);
    }
  }

  private static String output(RecordMetadata position) {
    return "{\"partition\":" + position.partition() + ",\"offset\":" + position.offset() + "}";
  }

  private void endRest(Batch batch, DeliveryResult result) {
    while (batch.first() != null) {
      end(batch, batch.take(), result);
    }
  }

  private void end(Batch batch, ClaimedTask task, DeliveryResult result) {
    depths.ended(batch.topic);
    long before = heldBytes.getAndAdd(-size(task));
    try {
      batch.ended.accept(task, result);
      if (before > maxBytes && before - size(task) <= maxBytes) {
        ready.raise();
      }
    } catch (RuntimeException | Error e) { // Kafka's thread has other callbacks to call
      log.error("result of a publish was not recorded task={}", task.id(), e);
    }
  }

  private Map<String, Optional<DeliveryResult>> lookUp(Set<String> names)
      throws InterruptedException, TimeoutException {
    Link link = monitor.link();
    if (link == null) {
      throw new TimeoutException("not connected");
    }
    return link.topics(names);
  }

  private static String topic(ClaimedTask task) {
    if (!(task.target() instanceof Target.Kafka target)) {
      throw new IllegalArgumentException("task " + task.id() + " is not for Kafka");
    }
    return target.topic();
  }

  private static long size(ClaimedTask task) {
    return OVERHEAD + (task.payload() == null ? 0 : task.payload().length());
  }

  private boolean isClosed() {
    synchronized (senders) {
      return closed;
    }
  }

  @Override
  public void close() {
    synchronized (senders) {
      closed = true;
      senders.forEach(Thread::interrupt);
    }
    monitor.close(); // ends the messages that the producer holds
    synchronized (senders) {
      try {
        while (!senders.isEmpty()) {
          senders.wait();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    flights.forEach(flight -> flight.ended(null, new TimeoutException()));
  }
}
