package carillon.delivery.kafka;

import carillon.delivery.MessageHeaders;
import carillon.delivery.Publisher;
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
 * Kafka's producer never fails to accept a record, it waits: for the metadata of a topic that it
 * does not know, and for room in its buffer. So the tasks of one call that go to one topic have a
 * thread of their own, which waits for them and for nobody else: for the topic to be looked up
 * (Topics), for room (InFlight), and at worst for the producer.
 *
 * What was handed to the producer ends by its callback, within delivery.timeout.ms; if that thread
 * of Kafka's has died, by our sweep. What was not yet ends here: as lost while the cluster does not
 * answer or the topic does not confirm, as interrupted when we close.
 */

/** Publishes tasks to one Kafka cluster. */
public final class KafkaPublisher implements Publisher {

  private static final Logger log = LoggerFactory.getLogger(KafkaPublisher.class);

  private static final long OVERHEAD = 700; // headers, more or less

  /** How long a task may wait here before it is handed to the producer. */
  private static final Duration WAIT = Duration.ofSeconds(3);

  /** How long the producer may have a task: longer than it should. */
  private static final Duration FLIGHT = KafkaCluster.DELIVERY.plusSeconds(2);

  private final KafkaCluster cluster;
  private final InstantSource clock;
  private final ClusterMonitor watch;
  private final Topics topics;
  private final Depths depths = new Depths(System::nanoTime);
  private final long mostBytes;
  private final InFlight inFlight;
  private final Set<Flight> flights = ConcurrentHashMap.newKeySet();

  /** Who hands over. Guarded by itself, as is closed. */
  private final Set<Thread> senders = new HashSet<>();

  private boolean closed;

  /** Given to us and not ended. */
  private final AtomicLong heldBytes = new AtomicLong();

  private KafkaPublisher(KafkaCluster cluster, InstantSource clock) {
    this.cluster = cluster;
    this.clock = clock;
    this.watch = new ClusterMonitor(cluster, depths);
    this.topics = new Topics(this::lookUp, System::nanoTime);
    this.mostBytes = cluster.mostBytes();
    this.inFlight = new InFlight(mostBytes);
  }

  /** Starts to look for the cluster; returns before it is found. */
  public static KafkaPublisher start(KafkaCluster cluster, InstantSource clock) {
    var publisher = new KafkaPublisher(cluster, clock);
    publisher.watch.whenPassed(publisher::sweep);
    publisher.watch.start();
    return publisher;
  }

  @Override
  public BrokerName name() {
    return cluster.name();
  }

  @Override
  public boolean isReachable() {
    return watch.link() != null;
  }

  @Override
  public boolean isFull() {
    return heldBytes.get() > mostBytes;
  }

  @Override
  public Duration patience() {
    return WAIT.plus(FLIGHT);
  }

  @Override
  public int room(Target.Broker target) {
    if (!(target instanceof Target.Kafka kafka) || isFull() || topics.isResting(kafka.topic())) {
      return 0;
    }
    Target.DepthLimit limit = kafka.depth();
    return limit == null ? Integer.MAX_VALUE : depths.room(kafka.topic(), limit);
  }

  @Override
  public Map<String, Long> depths() {
    return depths.measured();
  }

  @Override
  public void whenReady(Runnable action) {
    watch.whenReady(action);
  }

  @Override
  public void publish(List<ClaimedTask> tasks, BiConsumer<ClaimedTask, DeliveryResult> ended) {
    Map<String, List<ClaimedTask>> byTopic = new LinkedHashMap<>();
    for (ClaimedTask task : tasks) {
      heldBytes.addAndGet(size(task));
      depths.begun(topic(task)); // now, so that whoever asks for room next is told less
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
      log.error("broker={} cannot publish", name(), e);
      endRest(batch, Results.lost());
    }
  }

  /** Whatever happens, all of them end: a seat that is not given back is lost for good. */
  private void handOver(Batch batch) {
    DeliveryResult rest = Results.lost();
    try {
      rest = send(batch);
    } catch (InterruptedException _) {
      rest = new DeliveryResult.Interrupted();
    } catch (RuntimeException | Error e) {
      log.error("broker={} could not publish", name(), e);
    } finally {
      endRest(batch, rest);
      synchronized (senders) {
        senders.remove(Thread.currentThread());
        senders.notifyAll();
      }
    }
  }

  /** Returns what becomes of those that were not handed over. */
  private DeliveryResult send(Batch batch) throws InterruptedException {
    for (ClaimedTask task = batch.first(); task != null; task = batch.first()) {
      Link link = watch.link();
      long left = batch.since + WAIT.toNanos() - System.nanoTime();
      if (isClosed()) {
        return new DeliveryResult.Interrupted();
      }
      if (link == null || left <= 0 || topics.isResting(batch.topic)) {
        return Results.lost();
      }
      Optional<DeliveryResult> why = answer(batch.topic, left);
      if (why.isPresent()) {
        return why.get();
      }
      if (isLate(task)) {
        end(batch, batch.take(), Results.tooLate());
      } else if (inFlight.take(batch.topic, size(task))) {
        send(link, batch, batch.take());
      } else {
        inFlight.await(left);
      }
    }
    return Results.lost(); // there are none
  }

  private Optional<DeliveryResult> answer(String topic, long nanos) throws InterruptedException {
    try {
      return topics.answer(topic).get(nanos, TimeUnit.NANOSECONDS);
    } catch (ExecutionException | TimeoutException _) {
      return Optional.of(Results.lost());
    }
  }

  private boolean isLate(ClaimedTask task) {
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
      log.error("broker={} could not publish", name(), e);
      flight.ended(null, new TimeoutException());
    }
  }

  /** Once a second. */
  private void sweep() {
    topics.sweep();
    long now = System.nanoTime();
    for (Flight flight : flights) {
      if (now - flight.since > FLIGHT.toNanos()) {
        watch.replace(flight.link); // its thread must have died
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

  /** Tasks of one call that go to one topic. Of one thread. */
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

    /** The first that was not taken. */
    @Nullable ClaimedTask first() {
      return taken < tasks.size() ? tasks.get(taken) : null;
    }

    ClaimedTask take() {
      return tasks.get(taken++);
    }
  }

  /** One message on its way. */
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

    void ended(@Nullable RecordMetadata place, @Nullable Exception error) {
      if (hasEnded.getAndSet(true)) {
        return;
      }
      flights.remove(this);
      DeliveryResult result = Results.lost();
      try {
        result = result(place, error);
      } finally {
        inFlight.giveBack(batch.topic, size(task));
        end(batch, task, result);
      }
    }

    private DeliveryResult result(@Nullable RecordMetadata place, @Nullable Exception error) {
      if (error == null && place != null) {
        watch.heard();
        return new DeliveryResult.Accepted(null, output(place));
      }
      return failure(error == null ? new TimeoutException() : error);
    }

    private DeliveryResult failure(Exception error) {
      if (isClosed()) {
        return new DeliveryResult.Interrupted();
      }
      if (Results.isFatal(error)) {
        watch.replace(link);
      } else if (Results.isDoubtful(error)) {
        topics.doubt(batch.topic);
        watch.doubt();
      }
      return Results.of(error);
    }
  }

  private static String output(RecordMetadata place) {
    return "{\"partition\":" + place.partition() + ",\"offset\":" + place.offset() + "}";
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
      if (before > mostBytes && before - size(task) <= mostBytes) {
        watch.ready();
      }
    } catch (RuntimeException | Error e) { // on a thread of Kafka's, which has others to call
      log.error("the end of a publish was not taken task={}", task.id(), e);
    }
  }

  private Map<String, Optional<DeliveryResult>> lookUp(Set<String> names)
      throws InterruptedException, TimeoutException {
    Link link = watch.link();
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
    watch.close(); // ends what the producer has
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
