package carillon.delivery.kafka;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** The two clients of one cluster: who sends, and who asks. */
record Link(Producer<byte[], byte[]> producer, Admin admin) implements AutoCloseable {

  static final Duration PATIENCE = Duration.ofSeconds(2);

  static Link open(KafkaCluster cluster) {
    Producer<byte[], byte[]> producer = new KafkaProducer<>(cluster.producer());
    try {
      return new Link(producer, Admin.create(cluster.admin()));
    } catch (RuntimeException e) {
      producer.close(Duration.ZERO);
      throw e;
    }
  }

  /** Whether anybody of the cluster answers. */
  void probe() throws ExecutionException, InterruptedException, TimeoutException {
    if (answer(admin.describeCluster().nodes()).isEmpty()) {
      throw new TimeoutException("no node is up");
    }
  }

  /**
   * Whether the topic is there, and ready for the producer to write to. A broker that makes topics
   * does so when the producer asks.
   */
  boolean hasTopic(String topic) throws ExecutionException, InterruptedException, TimeoutException {
    // Twice, with a second between: a broker that has just started may not know all of its topics.
    if (isDescribed(topic)) {
      warm(topic);
      return true;
    }
    return warm(topic) || isDescribed(topic);
  }

  private boolean isDescribed(String topic)
      throws ExecutionException, InterruptedException, TimeoutException {
    try {
      answer(admin.describeTopics(Set.of(topic)).allTopicNames());
      return true;
    } catch (ExecutionException e) {
      if (e.getCause() instanceof UnknownTopicOrPartitionException) {
        return false;
      }
      throw e;
    }
  }

  /** Lets the producer learn of the topic here, because it would wait for that where it sends. */
  private boolean warm(String topic) {
    for (int i = 0; i < 4; i++) {
      try {
        if (!producer.partitionsFor(topic).isEmpty()) {
          return true;
        }
      } catch (org.apache.kafka.common.errors.TimeoutException _) {
        // It waits for a quarter of a second only.
      }
    }
    return false;
  }

  static <T> T answer(KafkaFuture<T> future)
      throws ExecutionException, InterruptedException, TimeoutException {
    return future.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** Ends at once whatever is under way. */
  @Override
  public void close() {
    producer.close(Duration.ZERO);
    admin.close(Duration.ZERO);
  }
}
