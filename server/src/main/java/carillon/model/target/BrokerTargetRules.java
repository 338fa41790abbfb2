package carillon.model.target;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Validates broker targets.
 *
 * @param registered the clusters that the operator has configured
 */
public record BrokerTargetRules(Set<BrokerName> registered) {

  public static final BrokerTargetRules NO_BROKERS = new BrokerTargetRules(Set.of());

  public static final int MAX_DEPTH = 1_000_000_000;

  private static final Pattern TOPIC = Pattern.compile("[A-Za-z0-9._-]{1,249}");
  private static final int EXCHANGE_BYTES = 127;
  private static final int NAME_BYTES = 255;
  private static final String NOT_ALLOWED = "target_not_allowed";
  private static final String INVALID = "invalid_value";

  public BrokerTargetRules {
    registered = Set.copyOf(registered);
  }

  /** The default cluster: the only one of its kind, if there is exactly one. */
  public Optional<String> onlyCluster(BrokerName.Kind kind) {
    List<BrokerName> all = registered.stream().filter(name -> name.kind() == kind).toList();
    return all.size() == 1 ? Optional.of(all.getFirst().cluster()) : Optional.empty();
  }

  /** The clusters that a tenant with these grants may use, for a message. */
  public String choice(BrokerName.Kind kind, Grants grants) {
    String names =
        new TreeSet<>(registered)
            .stream()
                .filter(name -> name.kind() == kind && grants.reach(name))
                .map(BrokerName::cluster)
                .collect(Collectors.joining(", "));
    if (!names.isEmpty()) {
      return "name one of: " + names;
    }
    return registered.stream().anyMatch(name -> name.kind() == kind)
        ? "this tenant may not publish to any; an admin grants it with the tenant's publish"
        : "none is registered; the operator adds one with --" + kind.text() + " NAME=...";
  }

  /** All errors; empty if the target is valid. */
  public List<HttpTargetRules.Problem> check(Target.Broker target, Grants grants) {
    List<HttpTargetRules.Problem> problems = new ArrayList<>();
    switch (target) {
      case Target.Kafka kafka -> checkTopic(kafka.topic(), problems);
      case Target.RabbitMq rabbit -> checkRabbit(rabbit, problems);
    }
    checkDepth(target, problems);
    BrokerName broker = target.broker();
    if (!registered.contains(broker) || !grants.reach(broker)) {
      problems.add(
          problem(
              "cluster",
              NOT_ALLOWED,
              "is not a cluster that this tenant may use: " + choice(broker.kind(), grants)));
    } else if (problems.isEmpty() && !grants.allow(broker, target.destination())) {
      problems.add(
          problem(
              destinationField(target),
              NOT_ALLOWED,
              "this tenant may not publish there; an admin grants it with the tenant's publish"));
    }
    return problems;
  }

  private static String destinationField(Target.Broker target) {
    return switch (target) {
      case Target.Kafka _ -> "topic";
      case Target.RabbitMq rabbit -> rabbit.exchange().isEmpty() ? "routingKey" : "exchange";
    };
  }

  private static void checkTopic(String topic, List<HttpTargetRules.Problem> problems) {
    if (!TOPIC.matcher(topic).matches() || topic.equals(".") || topic.equals("..")) {
      problems.add(problem("topic", INVALID, "must match " + TOPIC + " and not be . or .."));
    } else if (topic.startsWith("__")) {
      problems.add(problem("topic", INVALID, "must not start with __: those are Kafka's own"));
    }
  }

  private static void checkRabbit(Target.RabbitMq target, List<HttpTargetRules.Problem> problems) {
    if (target.exchange().startsWith("amq.")) {
      problems.add(problem("exchange", INVALID, "must not start with amq.: those are RabbitMQ's"));
    }
    checkName("exchange", target.exchange(), EXCHANGE_BYTES, problems);
    checkName("routingKey", target.routingKey(), NAME_BYTES, problems);
    if (target.exchange().isEmpty() && target.routingKey().isEmpty()) {
      problems.add(problem("routingKey", INVALID, "must be a queue if there is no exchange"));
    }
  }

  private static void checkDepth(Target.Broker target, List<HttpTargetRules.Problem> problems) {
    Target.DepthLimit depth = target.depth();
    if (depth == null) {
      return;
    }
    String field = target instanceof Target.Kafka ? "group" : "queue";
    if (depth.of().isEmpty()) {
      problems.add(problem(field, INVALID, "must not be empty"));
    }
    checkName(field, depth.of(), NAME_BYTES, problems);
  }

  private static void checkName(
      String field, String name, int bytes, List<HttpTargetRules.Problem> problems) {
    if (name.chars().anyMatch(Character::isISOControl)) {
      problems.add(problem(field, INVALID, "must not have control characters"));
    } else if (name.getBytes(StandardCharsets.UTF_8).length > bytes) {
      problems.add(problem(field, "too_long", "must have at most " + bytes + " bytes"));
    }
  }

  private static HttpTargetRules.Problem problem(String field, String code, String message) {
    return new HttpTargetRules.Problem(field, code, message);
  }
}
