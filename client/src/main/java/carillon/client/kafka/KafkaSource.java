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
 * Has a worker's tasks come from Kafka topics, as a member of a consumer group.
 *
 * <pre>{@code
 * carillon.worker("biller")
 *     .handle("invoice.pay", Invoice.class, biller)
 *     .source(KafkaSource.of(Map.of("bootstrap.servers", "kafka:9092", "group.id", "biller"), "invoices"))
 *     .start();
 * }</pre>
 *
 * <p>An offset is committed once every task before it has ended and been reported, so a worker that
 * dies loses none; what it had in hand comes again, to it or to another of the group. Tasks of a
 * partition run beside each other, in no order. While the worker has enough in hand, no more is
 * fetched.
 *
 * <p>A message without a token is handled and not reported: Carillon took it as completed when it
 * was published. If its handler throws, nobody repeats it.
 */
public final class KafkaSource implements TaskSource {

  private static final Logger log = System.getLogger(KafkaSource.class.getName());
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(15);

  /** What this class decides: it rests on them. */
  private static final Set<String> OURS =
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
   * @param settings Kafka's own settings of a consumer; {@code bootstrap.servers} and {@code
   *     group.id} among them
   * @throws IllegalArgumentException if one of these is missing, or one is given that the source
   *     decides itself
   */
  public static KafkaSource of(Map<String, ?> settings, String... topics) {
    for (String needed :
        List.of(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, ConsumerConfig.GROUP_ID_CONFIG)) {
      if (!settings.containsKey(needed)) {
        throw new IllegalArgumentException("the settings must have " + needed);
      }
    }
    for (String name : settings.keySet()) {
      if (OURS.contains(name)) {
        throw new IllegalArgumentException(name + " is decided here: leave it out");
      }
    }
    if (topics.length == 0) {
      throw new IllegalArgumentException("name at least one topic");
    }
    return new KafkaSource(Map.copyOf(settings), List.of(topics), KafkaSource::log);
  }

  /**
   * The same, telling this of messages that are not Carillon's or have no handler here, and why; by
   * default they are logged. They are skipped in any case.
   */
  public KafkaSource onSkipped(BiConsumer<ConsumerRecord<byte[], byte[]>, String> action) {
    return new KafkaSource(settings, topics, action);
  }

  private static void log(ConsumerRecord<byte[], byte[]> record, String why) {
    log.log(
        Level.WARNING,
        "skipped a message of {0}, partition {1}, offset {2}: {3}",
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
    // A group that is new must not miss what was published before it came.
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

  /** Commits what has ended and leaves the group. */
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
