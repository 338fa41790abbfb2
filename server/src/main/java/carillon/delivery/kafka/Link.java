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

/** The two clients of one cluster: one sends messages, the other one queries. */
record Link(Producer<byte[], byte[]> producer, Admin admin) implements AutoCloseable {

  private static final Duration RESPONSE_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration BEFORE_SECOND_LOOKUP = Duration.ofSeconds(1);

  static Link open(KafkaCluster cluster) {
    Producer<byte[], byte[]> producer = new KafkaProducer<>(cluster.producer());
    try {
      return new Link(producer, Admin.create(cluster.admin()));
    } catch (RuntimeException e) {
      producer.close(Duration.ZERO);
      throw e;
    }
  }

  /** Throws unless a node of the cluster responds. */
  void probe() throws ExecutionException, InterruptedException, TimeoutException {
    if (await(admin.describeCluster().nodes()).isEmpty()) {
      throw new TimeoutException("no node is up");
    }
  }

  /**
   * Looks up topics: empty if a topic exists and the producer knows it. A broker that creates
   * topics automatically does so when the producer asks for them.
   */
  Map<String, Optional<DeliveryResult>> topics(Set<String> names)
      throws InterruptedException, TimeoutException {
    Map<String, Optional<DeliveryResult>> found = new HashMap<>();
    Set<String> missing = describe(names, found);
    if (!missing.isEmpty()) {
      // Look twice, a second apart: a broker that has just started may not know all its topics.
      if (createsTopics()) {
        Set<String> created = warm(missing);
        created.forEach(name -> found.put(name, Optional.empty()));
        missing.removeAll(created);
      } else {
        Thread.sleep(BEFORE_SECOND_LOOKUP);
      }
      missing = missing.isEmpty() ? missing : describe(missing, found);
    }
    missing.forEach(name -> found.put(name, Optional.of(Results.noSuchTopic())));
    List<String> existing =
        found.entrySet().stream()
            .filter(one -> one.getValue().isEmpty())
            .map(Map.Entry::getKey)
            .toList();
    var _ = warm(existing);
    return found;
  }

  /** Returns the topics that do not exist. */
  private Set<String> describe(Set<String> names, Map<String, Optional<DeliveryResult>> found)
      throws InterruptedException, TimeoutException {
    Set<String> missing = new HashSet<>();
    for (var one : admin.describeTopics(names).topicNameValues().entrySet()) {
      try {
        await(one.getValue());
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

  private boolean createsTopics() throws InterruptedException, TimeoutException {
    try {
      Optional<Node> node = await(admin.describeCluster().nodes()).stream().findFirst();
      if (node.isEmpty()) {
        return true;
      }
      var broker = new ConfigResource(ConfigResource.Type.BROKER, node.get().idString());
      Config config = await(admin.describeConfigs(Set.of(broker)).all()).get(broker);
      ConfigEntry creates = config == null ? null : config.get("auto.create.topics.enable");
      return creates == null || !"false".equals(creates.value());
    } catch (ExecutionException _) {
      return true; // not allowed to read the setting: assume so and try
    }
  }

  /**
   * Makes the producer fetch the metadata of the topics now, because it would otherwise block in
   * {@code send}. Returns the topics that it knows.
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
        // max.block.ms is only a quarter of a second: try again.
      } catch (RuntimeException _) { // closed, or not allowed: the sender will get the error
        return;
      }
    }
  }

  static <T> T await(KafkaFuture<T> future)
      throws ExecutionException, InterruptedException, TimeoutException {
    return future.get(RESPONSE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** Fails all pending requests immediately. */
  @Override
  public void close() {
    producer.close(Duration.ZERO);
    admin.close(Duration.ZERO);
  }
}
