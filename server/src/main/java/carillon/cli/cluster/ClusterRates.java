package carillon.cli.cluster;

import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Rates of nodes, from the counters in their heartbeats. A rate is computed between two heartbeats,
 * not between two reads: an interval may contain none or two heartbeats.
 */
final class ClusterRates {

  private Map<String, Pair> nodes = new HashMap<>();

  /** The counters of one heartbeat. */
  private record Heartbeat(Instant at, long claimed, long ended) {}

  /** The last two heartbeats of a node; the earlier one is missing at first. */
  private record Pair(@Nullable Heartbeat before, Heartbeat last) {

    Pair then(Heartbeat heartbeat) {
      return heartbeat.at().isAfter(last.at()) ? new Pair(last, heartbeat) : this;
    }

    OptionalDouble perSecond(ToLongFunction<Heartbeat> count) {
      if (before == null) {
        return OptionalDouble.empty();
      }
      double seconds = Duration.between(before.at(), last.at()).toNanos() / 1e9;
      return OptionalDouble.of((count.applyAsLong(last) - count.applyAsLong(before)) / seconds);
    }
  }

  /** Adds another response of {@code /v1/cluster}. */
  void add(JsonNode cluster) {
    Map<String, Pair> now = new HashMap<>();
    for (JsonNode node : cluster.path("nodes")) {
      Heartbeat heartbeat = heartbeat(node);
      if (heartbeat != null) {
        String id = node.path("id").asString("");
        Pair pair = nodes.get(id);
        now.put(id, pair == null ? new Pair(null, heartbeat) : pair.then(heartbeat));
      }
    }
    nodes = now;
  }

  OptionalDouble claimed(String node) {
    Pair pair = nodes.get(node);
    return pair == null ? OptionalDouble.empty() : pair.perSecond(Heartbeat::claimed);
  }

  OptionalDouble ended(String node) {
    Pair pair = nodes.get(node);
    return pair == null ? OptionalDouble.empty() : pair.perSecond(Heartbeat::ended);
  }

  private static @Nullable Heartbeat heartbeat(JsonNode node) {
    try {
      return new Heartbeat(
          Instant.parse(node.path("renewedAt").asString("")),
          node.path("claimed").asLong(0),
          node.path("ended").asLong(0));
    } catch (DateTimeParseException _) {
      return null; // a server without heartbeats in its response
    }
  }
}
