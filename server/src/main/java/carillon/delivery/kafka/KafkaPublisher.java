package carillon.delivery.kafka;

import carillon.delivery.MessageHeaders;
import carillon.delivery.Publisher;
import carillon.model.BrokerName;
import carillon.model.ClaimedTask;
import carillon.model.DeliveryResult;
import carillon.model.Target;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
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
 * does not know, and for room in its buffer. Both waits happen here on the publisher's own thread,
 * and the first only when a topic vanished within the last minute: topics are looked up aside
 * (Topics) before anything is sent to them.
 *
 * What was handed to the producer ends by its callback, within delivery.timeout.ms. What was not
 * yet ends here: as lost while the cluster does not answer, as interrupted when we close.
 */

/** Publishes tasks to one Kafka cluster. */
public final class KafkaPublisher implements Publisher {

  private static final Logger log = LoggerFactory.getLogger(KafkaPublisher.class);

  /** Half of what Kafka's producer has by default: full batches take more than their records. */
  private static final long MOST_BYTES = 32L * 1024 * 1024;

  private static final long OVERHEAD = 700; // headers, more or less

  private final KafkaCluster cluster;
  private final InstantSource clock;
  private final Watch watch;
  private final Topics topics;
  private final Depths depths = new Depths(System::nanoTime);
  private final Thread sending;

  /** Waits to be given to the producer. Guarded by itself, as is closed. */
  private final Queue<Batch> waiting = new ArrayDeque<>();

  private boolean closed;

  /** Given to us and not ended. */
  private final AtomicLong heldBytes = new AtomicLong();

  /** Given to the producer and not ended. Guarded by itself. */
  private final AtomicLong sentBytes = new AtomicLong();

  /** Tasks of one call that go to one topic. */
  private record Batch(
      String topic, List<ClaimedTask> tasks, BiConsumer<ClaimedTask, DeliveryResult> ended) {}

  private KafkaPublisher(KafkaCluster cluster, InstantSource clock) {
    this.cluster = cluster;
    this.clock = clock;
    this.watch = new Watch(cluster, depths);
    this.topics = new Topics(this::isThere, System::nanoTime);
    this.sending =
        Thread.ofPlatform()
            .daemon()
            .name("kafka-" + cluster.name().cluster())
            .unstarted(this::sendAll);
  }

  /** Starts to look for the cluster; returns before it is found. */
  public static KafkaPublisher start(KafkaCluster cluster, InstantSource clock) {
    var publisher = new KafkaPublisher(cluster, clock);
    publisher.sending.start();
    publisher.watch.whenPassed(publisher.topics::sweep);
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
  public int room(Target.Broker target) {
    if (!(target instanceof Target.Kafka kafka)
        || heldBytes.get() > MOST_BYTES
        || topics.isResting(kafka.topic())) {
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
    byTopic.forEach((topic, some) -> submit(new Batch(topic, some, ended)));
  }

  private void submit(Batch batch) {
    synchronized (waiting) {
      if (!closed) {
        waiting.add(batch);
        waiting.notifyAll();
        return;
      }
    }
    endAll(batch, new DeliveryResult.Interrupted());
  }

  private void sendAll() {
    try {
      while (true) {
        route(next());
      }
    } catch (InterruptedException _) {
      // closed; what waits is ended by who closes
    }
  }

  private Batch next() throws InterruptedException {
    synchronized (waiting) {
      while (true) {
        Batch batch = waiting.poll();
        if (batch != null) {
          return batch;
        }
        waiting.wait();
      }
    }
  }

  private void route(Batch batch) throws InterruptedException {
    Link link = watch.link();
    if (link == null) {
      endAll(batch, Results.lost());
      return;
    }
    CompletableFuture<Optional<DeliveryResult>> answer = topics.answer(batch.topic());
    if (!answer.isDone()) {
      var _ = answer.thenRun(() -> submit(batch));
      return;
    }
    Optional<DeliveryResult> why = answer.join();
    if (why.isPresent()) {
      endAll(batch, why.get());
    } else {
      send(link, batch);
    }
  }

  private void send(Link link, Batch batch) throws InterruptedException {
    List<ClaimedTask> tasks = batch.tasks();
    for (int i = 0; i < tasks.size(); i++) {
      // Before each: the last one may have waited in vain for a topic that is gone.
      boolean isStale = !topics.isKnown(batch.topic()) || !link.equals(watch.link());
      if (isStale || isClosed()) {
        submit(new Batch(batch.topic(), tasks.subList(i, tasks.size()), batch.ended()));
        return;
      }
      awaitRoom(size(tasks.get(i)));
      send(link, batch, tasks.get(i));
    }
  }

  private void send(Link link, Batch batch, ClaimedTask task) {
    var flight = new Flight(link, batch, task);
    try {
      var _ = link.producer().send(message(task, batch.topic()), flight::ended);
    } catch (RuntimeException e) { // closed under us, or interrupted
      flight.ended(null, e);
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

  /** One message on its way. */
  private final class Flight {
    private final Link link;
    private final Batch batch;
    private final ClaimedTask task;
    private boolean hasEnded; // guarded by this

    Flight(Link link, Batch batch, ClaimedTask task) {
      this.link = link;
      this.batch = batch;
      this.task = task;
    }

    void ended(@Nullable RecordMetadata place, @Nullable Exception error) {
      synchronized (this) {
        if (hasEnded) {
          return;
        }
        hasEnded = true;
      }
      synchronized (sentBytes) {
        sentBytes.addAndGet(-size(task));
        sentBytes.notifyAll();
      }
      if (error == null && place != null) {
        watch.heard();
        end(batch, task, new DeliveryResult.Accepted(null, output(place)));
      } else {
        end(batch, task, failure(error == null ? new TimeoutException() : error));
      }
    }

    private DeliveryResult failure(Exception error) {
      if (isClosed()) {
        return new DeliveryResult.Interrupted();
      }
      if (Results.isFatal(error)) {
        watch.replace(link);
      } else if (Results.isDoubtful(error)) {
        topics.doubt(batch.topic());
        watch.doubt();
      }
      return Results.of(error);
    }
  }

  private static String output(RecordMetadata place) {
    return "{\"partition\":" + place.partition() + ",\"offset\":" + place.offset() + "}";
  }

  private void awaitRoom(long bytes) throws InterruptedException {
    synchronized (sentBytes) {
      while (sentBytes.get() > 0 && sentBytes.get() + bytes > MOST_BYTES) {
        sentBytes.wait();
      }
      sentBytes.addAndGet(bytes);
    }
  }

  private void endAll(Batch batch, DeliveryResult result) {
    batch.tasks().forEach(task -> end(batch, task, result));
  }

  private void end(Batch batch, ClaimedTask task, DeliveryResult result) {
    depths.ended(batch.topic());
    long before = heldBytes.getAndAdd(-size(task));
    try {
      batch.ended().accept(task, result);
    } catch (RuntimeException e) { // on a thread of Kafka's, which has others to call
      log.error("the end of a publish was not taken task={}", task.id(), e);
    }
    if (before > MOST_BYTES && before - size(task) <= MOST_BYTES) {
      watch.ready();
    }
  }

  private boolean isThere(String topic)
      throws ExecutionException, InterruptedException, TimeoutException {
    Link link = watch.link();
    if (link == null) {
      throw new TimeoutException("not connected");
    }
    return link.hasTopic(topic);
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
    synchronized (waiting) {
      return closed;
    }
  }

  @Override
  public void close() {
    synchronized (waiting) {
      closed = true;
    }
    sending.interrupt();
    watch.close(); // ends what the producer has
    try {
      sending.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    while (true) {
      Batch batch;
      synchronized (waiting) {
        batch = waiting.poll();
      }
      if (batch == null) {
        return;
      }
      endAll(batch, new DeliveryResult.Interrupted());
    }
  }
}
