package carillon.cli.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class ClusterRatesTest {

  private static final JsonMapper JSON = new JsonMapper();

  private final ClusterRates rates = new ClusterRates();

  private static JsonNode cluster(String id, String renewedAt, int claimed, int ended) {
    return JSON.readTree(
        """
        {"nodes": [{"id": "%s", "renewedAt": "%s", "claimed": %d, "ended": %d}]}
        """
            .formatted(id, renewedAt, claimed, ended));
  }

  @Test
  void one_heartbeat_has_no_rate() {
    rates.add(cluster("a", "2027-01-01T00:00:00.000Z", 5, 5));

    assertThat(rates.claimed("a")).isEmpty();
    assertThat(rates.ended("b")).isEmpty();
  }

  @Test
  void a_rate_is_computed_between_two_heartbeats() {
    rates.add(cluster("a", "2027-01-01T00:00:00.000Z", 100, 90));
    rates.add(cluster("a", "2027-01-01T00:00:00.500Z", 150, 100));
    rates.add(cluster("a", "2027-01-01T00:00:00.500Z", 150, 100));

    assertThat(rates.claimed("a")).hasValue(100);
    assertThat(rates.ended("a")).hasValue(20);
  }

  @Test
  void a_node_that_left_starts_again_without_a_rate() {
    rates.add(cluster("a", "2027-01-01T00:00:00.000Z", 100, 90));
    rates.add(cluster("b", "2027-01-01T00:00:01.000Z", 7, 7));
    rates.add(cluster("a", "2027-01-01T00:00:02.000Z", 300, 290));

    assertThat(rates.claimed("a")).isEmpty();
    assertThat(rates.claimed("b")).isEmpty();
  }

  @Test
  void a_node_without_heartbeats_has_no_rate() {
    rates.add(cluster("a", "yesterday", 1, 1));
    rates.add(cluster("a", "today", 2, 2));

    assertThat(rates.claimed("a")).isEmpty();
  }
}
