package carillon.client.kafka;

import carillon.client.TaskSource;
import carillon.client.broker.OpenAttempts;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.jspecify.annotations.Nullable;

/**
 * Delivers tasks from Kafka topics to a worker, as a member of a consumer group.
 *
 * <pre>{@code
 * carillon.worker("biller")
 *     .handle("invoice.pay", Invoice.class, biller)
 *     .source(KafkaSource.of(Map.of("bootstrap.servers", "kafka:9092", "group.id", "biller"), "invoices"))
 *     .start();
 * }</pre>
 *
 * <p>An offset is committed once every task before it has been reported, so a crash loses no task:
 * unreported tasks are delivered again, to this or another member of the group. Tasks of a
 * partition run concurrently, in no particular order. Fetching pauses while the worker has no room.
 *
 * <p>A message without a token is handled but not reported: its task completed when it was
 * published. If its handler throws, it is not retried.
 */
public final class KafkaSource implements TaskSource {

  private static final Logger log = System.getLogger(KafkaSource.class.getName());
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(15);

  /** Settings that this class controls. */
  private static final Set<String> RESERVED =
      Set.of(
          ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG,
          ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG,
          ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG,
          ConsumerConfig.MAX_POLL_RECORDS_CONFIG);

  private final Map<String, Object> settings;
  private final List<String> topics;
  private final BiConsumer<ConsumerRecord<byte[], byte[]>, String> onSkipped;
  private final OpenAttempts openAttempts = new OpenAttempts();
  private @Nullable KafkaRun current;
  private boolean isStopped;

  private KafkaSource(
      Map<String, Object> settings,
      List<String> topics,
      BiConsumer<ConsumerRecord<byte[], byte[]>, String> onSkipped) {
    this.settings = settings;
    this.topics = topics;
    this.onSkipped = onSkipped;
  }

  /**
   * Consumes from topics.
   *
   * @param settings Kafka consumer settings, including {@code bootstrap.servers} and {@code
   *     group.id}
   * @throws IllegalArgumentException if one of these is missing, or a setting is given that this
   *     class controls
   */
  public static KafkaSource of(Map<String, ?> settings, String... topics) {
    for (String needed :
        List.of(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, ConsumerConfig.GROUP_ID_CONFIG)) {
      if (!settings.containsKey(needed)) {
        throw new IllegalArgumentException("missing setting " + needed);
      }
    }
    for (String name : settings.keySet()) {
      if (RESERVED.contains(name)) {
        throw new IllegalArgumentException(name + " cannot be set: KafkaSource controls it");
      }
    }
    if (topics.length == 0) {
      throw new IllegalArgumentException("specify at least one topic");
    }
    return new KafkaSource(Map.copyOf(settings), List.of(topics), KafkaSource::log);
  }

  /**
   * Sets an action for skipped messages, which are not from Carillon, have no handler or are
   * expired, with the reason. Default: log them.
   */
  public KafkaSource onSkipped(BiConsumer<ConsumerRecord<byte[], byte[]>, String> action) {
    return new KafkaSource(settings, topics, action);
  }

  private static void log(ConsumerRecord<byte[], byte[]> record, String why) {
    log.log(
        Level.WARNING,
        "skipped message topic={0} partition={1} offset={2} reason={3}",
        record.topic(),
        record.partition(),
        Long.toString(record.offset()),
        why);
  }

  @Override
  public void run(Sink sink) {
    KafkaRun run = begin(sink);
    if (run == null) {
      return;
    }
    try {
      run.consume(topics);
    } finally {
      run.end();
    }
  }

  private synchronized @Nullable KafkaRun begin(Sink sink) {
    if (isStopped) {
      return null;
    }
    current = new KafkaRun(new KafkaConsumer<>(all(sink)), sink, openAttempts, onSkipped);
    return current;
  }

  private Map<String, Object> all(Sink sink) {
    Map<String, Object> all = new HashMap<>();
    // A new group must not miss earlier messages.
    all.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    all.put(ConsumerConfig.CLIENT_ID_CONFIG, sink.worker());
    all.putAll(settings);
    all.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    all.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, Math.min(sink.prefetch(), 500));
    all.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
    all.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
    return all;
  }

  @Override
  public synchronized void stop() {
    isStopped = true;
    if (current != null) {
      current.stop();
    }
  }

  /** Commits ended tasks and leaves the group. */
  @Override
  public void close() {
    KafkaRun run;
    synchronized (this) {
      isStopped = true;
      run = current;
    }
    if (run != null) {
      run.close(CLOSE_TIMEOUT);
    }
  }
}
