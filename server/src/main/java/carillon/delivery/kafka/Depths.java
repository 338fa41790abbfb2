package carillon.delivery.kafka;

import carillon.model.target.Target;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The lag of the consumer groups that limit a target. */
final class Depths {

  private static final Logger log = LoggerFactory.getLogger(Depths.class);
  private static final Duration FORGET_AFTER = Duration.ofSeconds(60);
  private static final long NOT_MEASURED = -1;

  private final LongSupplier nanos;
  private final Map<Watched, Depth> depths = new ConcurrentHashMap<>();
  private final Map<String, Sent> sent = new ConcurrentHashMap<>();

  /** A consumer group and the topic that it reads. */
  record Watched(String topic, String group) {}

  /** Counts the messages that this process has sent to a watched topic. */
  private static final class Sent {
    private final AtomicLong begun = new AtomicLong();
    private final AtomicLong ended = new AtomicLong();
  }

  /** The last measured lag of a group; messages sent since are added to it. */
  private static final class Depth {
    private volatile long usedAt;
    private volatile Measure last = new Measure(NOT_MEASURED, 0);
    private boolean isUnreadable; // used by the measuring thread only
  }

  /**
   * @param ended messages that had ended before the measurement, which therefore includes them
   */
  private record Measure(long lag, long ended) {}

  Depths(LongSupplier nanos) {
    this.nanos = nanos;
  }

  /** How many more messages the topic accepts: 0 until the lag is measured for the first time. */
  int remainingCapacity(String topic, Target.DepthLimit limit) {
    Depth depth = depths.computeIfAbsent(new Watched(topic, limit.of()), _ -> new Depth());
    depth.usedAt = nanos.getAsLong();
    Sent counted = sent.computeIfAbsent(topic, _ -> new Sent());
    Measure last = depth.last;
    if (last.lag() == NOT_MEASURED) {
      return 0;
    }
    long waiting = last.lag() + counted.begun.get() - last.ended();
    return Math.clamp(limit.max() - waiting, 0, Integer.MAX_VALUE);
  }

  void begun(String topic) {
    Sent counted = sent.get(topic);
    if (counted != null) {
      counted.begun.incrementAndGet();
    }
  }

  void ended(String topic) {
    Sent counted = sent.get(topic);
    // A message sent before counting began must not be counted as ended.
    if (counted != null && counted.ended.get() < counted.begun.get()) {
      counted.ended.incrementAndGet();
    }
  }

  /** The last measured lags, by {@code topic/group}. */
  Map<String, Long> measured() {
    Map<String, Long> all = new HashMap<>();
    depths.forEach(
        (watched, depth) -> {
          if (depth.last.lag() != NOT_MEASURED) {
            all.put(watched.topic() + "/" + watched.group(), depth.last.lag());
          }
        });
    return all;
  }

  /** Reads the lag of a group from Kafka. */
  interface Lag {
    long of(Watched watched) throws ExecutionException, InterruptedException, TimeoutException;
  }

  /**
   * Measures every group used in the last minute.
   *
   * @throws TimeoutException if Kafka does not respond, which ends the pass
   */
  void measure(Lag lag) throws InterruptedException, TimeoutException {
    long now = nanos.getAsLong();
    depths.values().removeIf(depth -> now - depth.usedAt > FORGET_AFTER.toNanos());
    Set<String> watched =
        depths.keySet().stream().map(Watched::topic).collect(Collectors.toUnmodifiableSet());
    sent.keySet().removeIf(topic -> !watched.contains(topic));
    for (Map.Entry<Watched, Depth> entry : depths.entrySet()) {
      measure(lag, entry.getKey(), entry.getValue());
    }
  }

  private void measure(Lag lag, Watched watched, Depth depth)
      throws InterruptedException, TimeoutException {
    Sent counted = sent.get(watched.topic());
    long ended = counted == null ? 0 : counted.ended.get();
    try {
      depth.last = new Measure(lag.of(watched), ended);
      depth.isUnreadable = false;
    } catch (ExecutionException e) {
      // Kafka responds, but not with this lag. Messages that have ended must not count forever.
      depth.last = new Measure(Math.max(0, depth.last.lag()), ended);
      if (!depth.isUnreadable) {
        Throwable why = e.getCause() == null ? e : e.getCause();
        log.warn(
            "cannot read consumer group lag topic={} error={}",
            watched.topic(),
            why.getClass().getSimpleName());
      }
      depth.isUnreadable = true;
    }
  }

  static long lag(Admin admin, Watched watched)
      throws ExecutionException, InterruptedException, TimeoutException {
    Map<TopicPartition, OffsetAndMetadata> committed = committed(admin, watched.group());
    TopicDescription topic =
        Link.await(admin.describeTopics(Set.of(watched.topic())).allTopicNames())
            .get(watched.topic());
    if (topic == null) {
      return 0;
    }
    Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
    Map<TopicPartition, OffsetSpec> starts = new HashMap<>();
    topic
        .partitions()
        .forEach(
            partition -> {
              var one = new TopicPartition(watched.topic(), partition.partition());
              ends.put(one, OffsetSpec.latest());
              if (committed.get(one) == null) { // nothing committed: the whole log counts
                starts.put(one, OffsetSpec.earliest());
              }
            });
    Map<TopicPartition, ListOffsetsResultInfo> last = Link.await(admin.listOffsets(ends).all());
    Map<TopicPartition, ListOffsetsResultInfo> first =
        starts.isEmpty() ? Map.of() : Link.await(admin.listOffsets(starts).all());
    long lag = 0;
    for (TopicPartition one : ends.keySet()) {
      @Nullable OffsetAndMetadata done = committed.get(one);
      long from = done != null ? done.offset() : offset(first.get(one));
      lag += Math.max(0, offset(last.get(one)) - from);
    }
    return lag;
  }

  private static long offset(@Nullable ListOffsetsResultInfo info) {
    return info == null ? 0 : info.offset();
  }

  private static Map<TopicPartition, OffsetAndMetadata> committed(Admin admin, String group)
      throws ExecutionException, InterruptedException, TimeoutException {
    try {
      return Link.await(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata());
    } catch (ExecutionException e) {
      if (e.getCause() instanceof GroupIdNotFoundException) {
        return Map.of();
      }
      throw e;
    }
  }
}
