package carillon.delivery.kafka;

import carillon.model.task.DeliveryResult;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** The two clients of one cluster: who sends, and who asks. */
record Link(Producer<byte[], byte[]> producer, Admin admin) implements AutoCloseable {

  static final Duration PATIENCE = Duration.ofSeconds(2);
  private static final Duration SECOND_LOOK = Duration.ofSeconds(1);

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
   * Which topics are there, and ready for the producer to write to. A broker that makes topics does
   * so when the producer asks.
   */
  Map<String, Optional<DeliveryResult>> topics(Set<String> names)
      throws InterruptedException, TimeoutException {
    Map<String, Optional<DeliveryResult>> found = new HashMap<>();
    Set<String> missing = describe(names, found);
    if (!missing.isEmpty()) {
      // Twice, with a second between: a broker that has just started may not know all its topics.
      if (makesTopics()) {
        Set<String> made = warm(missing);
        made.forEach(name -> found.put(name, Optional.empty()));
        missing.removeAll(made);
      } else {
        Thread.sleep(SECOND_LOOK);
      }
      missing = missing.isEmpty() ? missing : describe(missing, found);
    }
    missing.forEach(name -> found.put(name, Optional.of(Results.noSuchTopic())));
    List<String> there =
        found.entrySet().stream()
            .filter(one -> one.getValue().isEmpty())
            .map(Map.Entry::getKey)
            .toList();
    var _ = warm(there);
    return found;
  }

  /** Returns those that are not there. */
  private Set<String> describe(Set<String> names, Map<String, Optional<DeliveryResult>> found)
      throws InterruptedException, TimeoutException {
    Set<String> missing = new HashSet<>();
    for (var one : admin.describeTopics(names).topicNameValues().entrySet()) {
      try {
        answer(one.getValue());
        found.put(one.getKey(), Optional.empty());
      } catch (ExecutionException e) {
        if (e.getCause() instanceof UnknownTopicOrPartitionException) {
          missing.add(one.getKey());
        } else {
          found.put(
              one.getKey(),
              Optional.of(
                  e.getCause() instanceof Exception why ? Results.of(why) : Results.lost()));
        }
      }
    }
    return missing;
  }

  private boolean makesTopics() throws InterruptedException, TimeoutException {
    try {
      Optional<Node> node = answer(admin.describeCluster().nodes()).stream().findFirst();
      if (node.isEmpty()) {
        return true;
      }
      var broker = new ConfigResource(ConfigResource.Type.BROKER, node.get().idString());
      Config config = answer(admin.describeConfigs(Set.of(broker)).all()).get(broker);
      ConfigEntry makes = config == null ? null : config.get("auto.create.topics.enable");
      return makes == null || !"false".equals(makes.value());
    } catch (ExecutionException _) {
      return true; // we may not ask: then we have to try
    }
  }

  /**
   * Lets the producer learn of the topics here, because it would wait for that where it sends.
   * Returns those that it knows.
   */
  private Set<String> warm(Collection<String> topics) throws InterruptedException {
    Set<String> known = ConcurrentHashMap.newKeySet();
    List<Thread> threads =
        topics.stream()
            .map(topic -> Thread.ofVirtual().name("kafka-warm").start(() -> warm(topic, known)))
            .toList();
    for (Thread thread : threads) {
      thread.join();
    }
    return known;
  }

  private void warm(String topic, Set<String> known) {
    for (int i = 0; i < 4; i++) {
      try {
        if (!producer.partitionsFor(topic).isEmpty()) {
          known.add(topic);
          return;
        }
      } catch (org.apache.kafka.common.errors.TimeoutException _) {
        // It waits for a quarter of a second only.
      } catch (RuntimeException _) { // closed, or not allowed: whoever sends is told
        return;
      }
    }
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
