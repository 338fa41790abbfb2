package carillon.app;

import carillon.app.config.Config;
import carillon.delivery.Publisher;
import carillon.delivery.kafka.KafkaCluster;
import carillon.delivery.kafka.KafkaPublisher;
import carillon.delivery.rabbitmq.RabbitCluster;
import carillon.delivery.rabbitmq.RabbitPublisher;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;

/** Starts the publishers of a node. */
final class BrokerPublishers {

  private BrokerPublishers() {}

  /**
   * One for each broker cluster; none waits for its broker to answer. The lifecycle closes each, in
   * case the next one or the engine fails to start. Closing one twice does no harm.
   */
  static List<Publisher> start(Config.Brokers brokers, InstantSource clock, Lifecycle lifecycle) {
    List<Publisher> publishers = new ArrayList<>();
    for (KafkaCluster cluster : brokers.kafka()) {
      publishers.add(lifecycle.add("kafka-publisher", KafkaPublisher.start(cluster, clock)));
    }
    for (RabbitCluster cluster : brokers.rabbitmq()) {
      publishers.add(lifecycle.add("rabbitmq-publisher", RabbitPublisher.start(cluster, clock)));
    }
    return publishers;
  }
}
