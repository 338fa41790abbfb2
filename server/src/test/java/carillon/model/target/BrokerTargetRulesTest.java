package carillon.model.target;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.task.Route;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BrokerTargetRulesTest {

  private static final BrokerName KAFKA = new BrokerName(BrokerName.Kind.KAFKA, "main");
  private static final BrokerName RABBIT = new BrokerName(BrokerName.Kind.RABBITMQ, "main");

  private final BrokerTargetRules rules = new BrokerTargetRules(Set.of(KAFKA, RABBIT));

  private static Target.Kafka topic(String topic) {
    return new Target.Kafka("main", topic, Target.Complete.ON_REPORT, null);
  }

  private static Target.RabbitMq rabbit(String exchange, String routingKey) {
    return new Target.RabbitMq("main", exchange, routingKey, Target.Complete.ON_PUBLISH, null);
  }

  private List<String> fieldsWithProblems(Target.Broker target) {
    return rules.check(target, Grants.EVERYWHERE).stream()
        .map(HttpTargetRules.Problem::field)
        .toList();
  }

  private static Grants grants(String... texts) {
    return new Grants(
        List.of(texts).stream().map(text -> Grants.Grant.parse(text).orElseThrow()).toList());
  }

  @ParameterizedTest
  @ValueSource(strings = {"orders", "a.b_c-D9", "_internal", "..."})
  void valid_topics_are_accepted(String topic) {
    assertThat(fieldsWithProblems(topic(topic))).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", ".", "..", "__consumer_offsets", "a b", "a/b", "ä", "a\nb"})
  void invalid_and_internal_topics_are_rejected(String topic) {
    assertThat(fieldsWithProblems(topic(topic))).containsExactly("topic");
  }

  @Test
  void lengths_are_limited() {
    assertThat(fieldsWithProblems(topic("a".repeat(249)))).isEmpty();
    assertThat(fieldsWithProblems(topic("a".repeat(250)))).containsExactly("topic");
    assertThat(fieldsWithProblems(rabbit("e".repeat(127), "k"))).isEmpty();
    assertThat(fieldsWithProblems(rabbit("e".repeat(128), "k"))).containsExactly("exchange");
    assertThat(fieldsWithProblems(rabbit("", "ä".repeat(127)))).isEmpty();
    assertThat(fieldsWithProblems(rabbit("", "ä".repeat(128)))).containsExactly("routingKey");
  }

  @Test
  void invalid_and_internal_exchanges_are_rejected() {
    assertThat(fieldsWithProblems(rabbit("amq.topic", "k"))).containsExactly("exchange");
    assertThat(fieldsWithProblems(rabbit("a\u0007", "k\n")))
        .containsExactly("exchange", "routingKey");
    assertThat(fieldsWithProblems(rabbit("", ""))).containsExactly("routingKey");
    assertThat(fieldsWithProblems(rabbit("fanout", ""))).isEmpty();
  }

  @Test
  void only_registered_clusters_are_accepted() {
    var strange = new Target.Kafka("other", "t", Target.Complete.ON_REPORT, null);

    assertThat(rules.check(strange, Grants.EVERYWHERE))
        .singleElement()
        .satisfies(
            problem -> {
              assertThat(problem.field()).isEqualTo("cluster");
              assertThat(problem.code()).isEqualTo("target_not_allowed");
              assertThat(problem.message()).contains("main");
            });
    assertThat(rules.onlyCluster(BrokerName.Kind.KAFKA)).contains("main");
    assertThat(BrokerTargetRules.NO_BROKERS.onlyCluster(BrokerName.Kind.KAFKA)).isEmpty();
  }

  @Test
  void a_tenant_without_grants_does_not_see_cluster_names() {
    assertThat(rules.check(topic("t"), Grants.NOWHERE))
        .singleElement()
        .satisfies(
            problem -> {
              assertThat(problem.field()).isEqualTo("cluster");
              assertThat(problem.message()).doesNotContain("main");
            });
  }

  @ParameterizedTest
  @CsvSource({
    "orders.*, orders.new, true",
    "orders.*, orders., true",
    "orders.*, orders, false",
    "orders.*, my.orders.new, false",
    "*, anything, true",
    "*.done, a.done, true",
    "*.done, done, false",
    "a*b*c, abc, true",
    "a*b*c, aXbYc, true",
    "a*b*c, ac, false",
    "a*bc*bc, abc, false",
    "ab*ba, aba, false",
    "exact, exact, true",
    "exact, exactly, false",
    "a.c, abc, false"
  })
  void a_star_in_a_grant_matches_any_text(String place, String topic, boolean covers) {
    assertThat(rules.check(topic(topic), grants("kafka/main/" + place)).isEmpty())
        .isEqualTo(covers);
  }

  @Test
  void grants_with_many_stars_are_matched_quickly() {
    assertThat(rules.check(topic("a".repeat(240)), grants("kafka/main/" + "a*".repeat(120) + "b")))
        .hasSize(1);
  }

  @Test
  void a_grant_covers_one_cluster_and_the_exchange_or_the_queue() {
    assertThat(rules.check(rabbit("", "jobs"), grants("rabbitmq/main/jobs"))).isEmpty();
    assertThat(rules.check(rabbit("events", "jobs"), grants("rabbitmq/main/jobs")))
        .extracting(HttpTargetRules.Problem::field)
        .containsExactly("exchange");
    assertThat(rules.check(rabbit("events", "jobs"), grants("rabbitmq/main/events"))).isEmpty();
    assertThat(rules.check(topic("jobs"), grants("rabbitmq/main/jobs"))).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "kafka", "kafka/main", "kafka/main/", "redis/main/x", "kafka/Main/x", "/a/b"})
  void an_invalid_grant_is_not_parsed(String text) {
    assertThat(Grants.Grant.parse(text)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "TYPE,",
    "PUSH,",
    "PULL,",
    "PUBLISH:kafka/main, kafka/main",
    "REPORT:rabbitmq/a-1, rabbitmq/a-1"
  })
  void a_route_is_parsed_as_it_was_written(String text, @Nullable String broker) {
    Route route = Route.parse(text).orElseThrow();

    assertThat(route.text()).isEqualTo(text);
    assertThat(route.broker()).isEqualTo(BrokerName.parse(String.valueOf(broker)).orElse(null));
    assertThat(Route.parse(text + "!")).isEmpty();
  }

  @Test
  void a_tasks_own_target_determines_the_route() {
    assertThat(Route.of(topic("t")).text()).isEqualTo("REPORT:kafka/main");
    assertThat(Route.of(rabbit("", "q")).text()).isEqualTo("PUBLISH:rabbitmq/main");
    assertThat(Route.TYPE.given(topic("t")).text()).isEqualTo("REPORT:kafka/main");
    assertThat(Route.PUSH.given(topic("t"))).isEqualTo(Route.PUSH);
  }
}
