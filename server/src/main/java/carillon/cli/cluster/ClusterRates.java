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
 * How fast nodes work, from what their heartbeats counted. A rate is between two heartbeats and not
 * between two looks at them, which would see now none and now two in the same time.
 */
final class ClusterRates {

  private Map<String, Pair> nodes = new HashMap<>();

  /** What one heartbeat counted. */
  private record Beat(Instant at, long claimed, long ended) {}

  /** The last two of a node; the earlier one is missing at first. */
  private record Pair(@Nullable Beat before, Beat last) {

    Pair then(Beat beat) {
      return beat.at().isAfter(last.at()) ? new Pair(last, beat) : this;
    }

    OptionalDouble perSecond(ToLongFunction<Beat> count) {
      if (before == null) {
        return OptionalDouble.empty();
      }
      double seconds = Duration.between(before.at(), last.at()).toNanos() / 1e9;
      return OptionalDouble.of((count.applyAsLong(last) - count.applyAsLong(before)) / seconds);
    }
  }

  /** Takes in another answer of {@code /v1/cluster}. */
  void add(JsonNode cluster) {
    Map<String, Pair> now = new HashMap<>();
    for (JsonNode node : cluster.path("nodes")) {
      Beat beat = beat(node);
      if (beat != null) {
        String id = node.path("id").asString("");
        Pair pair = nodes.get(id);
        now.put(id, pair == null ? new Pair(null, beat) : pair.then(beat));
      }
    }
    nodes = now;
  }

  OptionalDouble claimed(String node) {
    Pair pair = nodes.get(node);
    return pair == null ? OptionalDouble.empty() : pair.perSecond(Beat::claimed);
  }

  OptionalDouble ended(String node) {
    Pair pair = nodes.get(node);
    return pair == null ? OptionalDouble.empty() : pair.perSecond(Beat::ended);
  }

  private static @Nullable Beat beat(JsonNode node) {
    try {
      return new Beat(
          Instant.parse(node.path("renewedAt").asString("")),
          node.path("claimed").asLong(0),
          node.path("ended").asLong(0));
    } catch (DateTimeParseException _) {
      return null; // of a server that says nothing of heartbeats
    }
  }
}
