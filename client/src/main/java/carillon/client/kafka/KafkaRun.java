package carillon.client.kafka;

import carillon.client.ClaimedTask;
import carillon.client.TaskSource.Ending;
import carillon.client.TaskSource.Sink;
import carillon.client.broker.OpenAttempts;
import carillon.client.broker.TaskMessage;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.Header;

/**
 * Runs one consumer: fetches records, delivers tasks and commits offsets, all on the thread of
 * {@link #consume}. Other threads only queue ended tasks.
 */
final class KafkaRun {

  /** How long a poll waits for records while there is room. */
  private static final Duration POLL_TIMEOUT = Duration.ofMillis(200);

  /** How long revoked partitions wait for their running tasks. */
  private static final Duration HANDOVER_TIMEOUT = Duration.ofSeconds(5);

  private static final Duration COMMIT_INTERVAL = Duration.ofMillis(50);
  private static final Duration COMMIT_TIMEOUT = Duration.ofSeconds(5);

  private final KafkaConsumer<byte[], byte[]> consumer;
  private final Sink sink;
  private final OpenAttempts openAttempts;
  private final BiConsumer<ConsumerRecord<byte[], byte[]>, String> onSkipped;

  private final Map<TopicPartition, PartitionProgress> partitions = new HashMap<>();
  private final Queue<Fetched> waiting = new ArrayDeque<>(); // fetched, waiting for room
  private final LinkedBlockingQueue<Ended> ended = new LinkedBlockingQueue<>();
  private final CountDownLatch closed = new CountDownLatch(1);
  private long lastCommit = System.nanoTime();
  private volatile boolean isFull; // fetching is paused, so ended tasks must wake the consumer
  private volatile boolean isStopped;
  private volatile boolean isClosed;

  /** A record, and the assignment of its partition at that time. */
  private record Fetched(
      ConsumerRecord<byte[], byte[]> message, PartitionProgress progress, ClaimedTask task) {}

  private record Ended(Fetched fetched, Ending how) {}

  KafkaRun(
      KafkaConsumer<byte[], byte[]> consumer,
      Sink sink,
      OpenAttempts openAttempts,
      BiConsumer<ConsumerRecord<byte[], byte[]>, String> onSkipped) {
    this.consumer = consumer;
    this.sink = sink;
    this.openAttempts = openAttempts;
    this.onSkipped = onSkipped;
  }

  /** Consumes until closed. */
  void consume(Collection<String> topics) {
    consumer.subscribe(topics, new Rebalance());
    while (!isClosed) {
      handOver();
      try {
        consumer.poll(POLL_TIMEOUT).forEach(this::fetched);
      } catch (WakeupException e) {
        // A task ended, or stop or close was called.
      }
      settle();
      commit();
    }
  }

  private void fetched(ConsumerRecord<byte[], byte[]> message) {
    sink.connected();
    PartitionProgress progress =
        partitions.computeIfAbsent(partition(message), partition -> new PartitionProgress());
    progress.fetched(message.offset());
    TaskMessage read = read(message);
    if (read instanceof TaskMessage.Valid valid) {
      waiting.add(new Fetched(message, progress, valid.task()));
    } else {
      read.report(onSkipped, message);
      progress.ended(message.offset());
    }
  }

  private TaskMessage read(ConsumerRecord<byte[], byte[]> message) {
    Map<String, String> headers = new HashMap<>();
    for (Header header : message.headers()) {
      if (header.value() != null) {
        headers.put(header.key(), new String(header.value(), StandardCharsets.UTF_8));
      }
    }
    return TaskMessage.read(headers, message.value(), sink.types(), Instant.now());
  }

  private static TopicPartition partition(ConsumerRecord<byte[], byte[]> message) {
    return new TopicPartition(message.topic(), message.partition());
  }

  /** Delivers as many tasks as the worker has room for. Pauses fetching while some are left. */
  private void handOver() {
    for (int room = sink.room(); room > 0 && !isStopped && !waiting.isEmpty(); room--) {
      Fetched next = waiting.remove();
      next.progress().started();
      openAttempts.accept(sink, next.task(), false, how -> ended(next, how));
    }
    isFull = isStopped || !waiting.isEmpty() || sink.room() <= 0;
    if (isFull) {
      consumer.pause(consumer.assignment());
      if (!isStopped && sink.room() > 0) {
        consumer.wakeup(); // a task ended before isFull was set
      }
    } else {
      consumer.resume(consumer.paused());
    }
  }

  private void ended(Fetched fetched, Ending how) {
    ended.add(new Ended(fetched, how));
    if (isFull) {
      consumer.wakeup();
    }
  }

  private void settle() {
    for (Ended each = ended.poll(); each != null; each = ended.poll()) {
      settle(each);
    }
  }

  private void settle(Ended each) {
    Fetched fetched = each.fetched();
    fetched.progress().stopped();
    boolean isUnknownToServer = each.how() == Ending.RELEASED && fetched.task().token() == null;
    if (!isUnknownToServer) {
      fetched.progress().ended(fetched.message().offset());
    } else if (!isStopped && partitions.containsValue(fetched.progress())) {
      waiting.add(fetched); // otherwise it would be lost
    }
  }

  private void commit() {
    if (System.nanoTime() - lastCommit < COMMIT_INTERVAL.toNanos()) {
      return;
    }
    Map<TopicPartition, OffsetAndMetadata> offsets = toCommit(partitions);
    if (!offsets.isEmpty()) {
      lastCommit = System.nanoTime();
      consumer.commitAsync(
          offsets,
          (done, failure) -> {
            if (failure != null) {
              partitions.values().forEach(PartitionProgress::forgetCommit);
              sink.failed(failure);
            } else {
              sink.connected();
            }
          });
    }
  }

  /** Commits synchronously, before the partitions are lost to this consumer. */
  private void commitNow(Map<TopicPartition, PartitionProgress> last) {
    last.values().forEach(PartitionProgress::forgetCommit);
    Map<TopicPartition, OffsetAndMetadata> offsets = toCommit(last);
    if (offsets.isEmpty()) {
      return;
    }
    try {
      try {
        consumer.commitSync(offsets, COMMIT_TIMEOUT);
      } catch (WakeupException e) {
        consumer.commitSync(offsets, COMMIT_TIMEOUT); // a wakeup meant for poll
      }
    } catch (KafkaException e) {
      sink.failed(e); // uncommitted records are delivered again
    }
  }

  /** The offsets that changed since the last call. */
  private static Map<TopicPartition, OffsetAndMetadata> toCommit(
      Map<TopicPartition, PartitionProgress> partitions) {
    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
    partitions.forEach(
        (partition, progress) -> {
          Long offset = progress.toCommit();
          if (offset != null) {
            offsets.put(partition, new OffsetAndMetadata(offset));
            progress.committed(offset);
          }
        });
    return offsets;
  }

  /** Releases partitions, after waiting a while for their running tasks. */
  private void release(Collection<TopicPartition> revoked, boolean isLost) {
    isFull = false; // a wakeup inside a callback would have no effect
    Map<TopicPartition, PartitionProgress> last = new HashMap<>();
    for (TopicPartition partition : revoked) {
      PartitionProgress progress = partitions.remove(partition);
      if (progress != null) {
        last.put(partition, progress);
        waiting.removeIf(fetched -> fetched.progress() == progress);
      }
    }
    if (!isLost) {
      awaitEnds(last.values());
      commitNow(last);
    }
  }

  private void awaitEnds(Collection<PartitionProgress> last) {
    long deadline = System.nanoTime() + HANDOVER_TIMEOUT.toNanos();
    try {
      while (last.stream().anyMatch(PartitionProgress::isRunning)) {
        Ended each = ended.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        if (each == null) {
          return;
        }
        settle(each);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Commits and leaves the group. Called on the thread of {@link #consume}. */
  void end() {
    try {
      settle();
      commitNow(partitions);
      consumer.close(CloseOptions.timeout(COMMIT_TIMEOUT));
    } catch (KafkaException e) {
      sink.failed(e);
    } finally {
      closed.countDown();
    }
  }

  private final class Rebalance implements ConsumerRebalanceListener {

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> added) {
      sink.connected();
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
      release(revoked, false);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> lost) {
      release(lost, true);
    }
  }

  void stop() {
    isStopped = true;
    consumer.wakeup();
  }

  /** Called by another thread: waits until the consumer has committed and left the group. */
  void close(Duration timeout) {
    isStopped = true;
    isClosed = true;
    consumer.wakeup();
    try {
      closed.await(timeout.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
