package carillon.cli.cluster;

import carillon.cli.Amounts;
import carillon.cli.Console.Colour;
import carillon.cli.Line;
import carillon.cli.Text;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** A response of {@code /v1/cluster} as lines for people. No clock, no I/O. */
final class ClusterPage {

  static final String NOT_RESPONDING = "NOT RESPONDING";

  private static final String NONE = "-";

  private final JsonNode cluster;
  private final ClusterRates rates;

  ClusterPage(JsonNode cluster, ClusterRates rates) {
    this.cluster = cluster;
    this.rates = rates;
  }

  /** The cluster as a whole. */
  List<Line> summary() {
    List<Line> lines = new ArrayList<>();
    lines.add(leader());
    lines.add(Line.of("nodes", counts()));
    lines.add(Line.of("tasks", tasks()));
    lines.add(shards());
    JsonNode database = cluster.path("database");
    lines.add(
        Line.of(
            "database",
            "PostgreSQL %s, timeline %s, oldest transaction %s"
                .formatted(
                    text(database, "version"),
                    text(database, "timeline"),
                    took(database, "oldestTransaction"))));
    lines.add(Line.of("standbys", standbys(database.path("standbys"))));
    return lines;
  }

  private Line leader() {
    JsonNode leader = cluster.path("leader");
    return leader.isObject()
        ? Line.of(
            "leader",
            "%s, term %s, for %s"
                .formatted(text(leader, "node"), text(leader, "term"), age(leader, "since")))
        : Line.of("leader", "none", Colour.RED);
  }

  private String counts() {
    List<String> counts = new ArrayList<>();
    for (String status : List.of("ALIVE", "DRAINING", "SILENT", "LEFT")) {
      long count = nodes(node -> is(node, status)).size();
      if (count > 0 || status.equals("ALIVE")) {
        counts.add(count + " " + label(status).toLowerCase(Locale.ROOT));
      }
    }
    return String.join(", ", counts);
  }

  private static String label(String status) {
    return switch (status) {
      case "SILENT" -> NOT_RESPONDING;
      case "LEFT" -> "STOPPED";
      default -> status;
    };
  }

  private String tasks() {
    List<JsonNode> members = nodes(ClusterPage::isMember);
    return "%s claimed/s, %s finished/s, %s of %s in flight, lag %s"
            .formatted(
                total(members, rates::claimed),
                total(members, rates::ended),
                sum(members, "inFlight"),
                sum(members, "seats"),
                took(cluster, "lag"))
        + suspects(cluster);
  }

  /** Empty if there are none. */
  private static String suspects(JsonNode of) {
    int waiting = of.path("suspects").path("waiting").asInt(0);
    int running = of.path("suspects").path("running").asInt(0);
    return waiting + running == 0
        ? ""
        : ", suspects %s waiting and %s running"
            .formatted(Amounts.number(waiting), Amounts.number(running));
  }

  private Line shards() {
    JsonNode shards = cluster.path("shards");
    long unassigned = shards.path("unassigned").asLong(0);
    String moved = age(shards, "lastMovedAt");
    return Line.of(
        "shards",
        "%s, %d unassigned, %s"
            .formatted(
                text(shards, "total"),
                unassigned,
                moved.equals(NONE) ? "never moved" : "last rebalanced " + moved + " ago"),
        unassigned > 0 ? Colour.YELLOW : null);
  }

  private static String standbys(JsonNode standbys) {
    List<String> all = new ArrayList<>();
    for (JsonNode standby : standbys) {
      all.add(
          "%s %s %s, %s behind"
              .formatted(
                  text(standby, "name"),
                  text(standby, "state"),
                  text(standby, "sync"),
                  took(standby, "lag")));
    }
    return all.isEmpty() ? "none" : String.join("; ", all);
  }

  /** The nodes that have not stopped, one per row. */
  ClusterTable table() {
    List<JsonNode> nodes = nodes(node -> !is(node, "LEFT"));
    int max = nodes.stream().mapToInt(node -> node.path("shards").size()).max().orElse(0);
    String leader = cluster.path("leader").path("node").asString("");
    ClusterTable table = new ClusterTable(nodes.size());
    table.add(ClusterTable.Column.MARK, each(nodes, node -> mark(node, leader)));
    table.add(ClusterTable.Column.NODE, each(nodes, node -> text(node, "id")));
    table.add(ClusterTable.Column.STATUS, each(nodes, node -> label(text(node, "status"))));
    table.add(ClusterTable.Column.SHARDS, each(nodes, node -> "" + node.path("shards").size()));
    table.add(ClusterTable.Column.CLAIMED, each(nodes, node -> rate(node, rates::claimed)));
    table.add(ClusterTable.Column.ENDED, each(nodes, node -> rate(node, rates::ended)));
    table.add(ClusterTable.Column.LAG, each(nodes, node -> took(node, "lag")));
    table.add(ClusterTable.Column.IN_FLIGHT, each(nodes, ClusterPage::inFlight));
    table.add(ClusterTable.Column.CLOCK, each(nodes, ClusterPage::clock));
    table.add(ClusterTable.Column.HEARTBEAT, each(nodes, node -> age(node, "renewedAt")));
    table.add(ClusterTable.Column.BAR, each(nodes, node -> bar(node, max)));
    table.add(ClusterTable.Column.ROLES, each(nodes, ClusterPage::roles));
    table.add(ClusterTable.Column.UP, each(nodes, node -> age(node, "startedAt")));
    table.add(ClusterTable.Column.VERSION, each(nodes, node -> text(node, "version")));
    table.add(ClusterTable.Column.ADDRESS, each(nodes, node -> text(node, "address")));
    return table;
  }

  private static List<String> each(List<JsonNode> nodes, Function<JsonNode, String> cell) {
    return nodes.stream().map(cell).toList();
  }

  private static String mark(JsonNode node, String leader) {
    return node.path("id").asString("").equals(leader) ? "*" : "";
  }

  private static String inFlight(JsonNode node) {
    return text(node, "inFlight") + "/" + text(node, "seats");
  }

  private static String clock(JsonNode node) {
    Duration offset = duration(node, "clockOffset");
    return offset == null ? NONE : Amounts.offset(seconds(offset));
  }

  private static String roles(JsonNode node) {
    return Text.visible(
        String.join(",", node.path("roles").valueStream().map(role -> role.asString("")).toList()));
  }

  /** A bar in proportion to the node with the most shards. */
  private static String bar(JsonNode node, int max) {
    int shards = node.path("shards").size();
    return "#".repeat(max == 0 ? 0 : (shards * ClusterTable.BAR_WIDTH + max - 1) / max);
  }

  private String rate(JsonNode node, Function<String, OptionalDouble> rate) {
    OptionalDouble value =
        isMember(node) ? rate.apply(node.path("id").asString("")) : OptionalDouble.empty();
    return value.isPresent() ? Amounts.number(value.getAsDouble()) : NONE;
  }

  private static String total(List<JsonNode> nodes, Function<String, OptionalDouble> rate) {
    double sum = 0;
    boolean isKnown = false;
    for (JsonNode node : nodes) {
      OptionalDouble value = rate.apply(node.path("id").asString(""));
      isKnown |= value.isPresent();
      sum += value.orElse(0);
    }
    return isKnown ? Amounts.number(sum) : NONE;
  }

  private static String sum(List<JsonNode> nodes, String field) {
    return Amounts.number(nodes.stream().mapToDouble(node -> node.path(field).asInt(0)).sum());
  }

  private List<JsonNode> nodes(Predicate<JsonNode> which) {
    return cluster.path("nodes").valueStream().filter(which).toList();
  }

  private static boolean is(JsonNode node, String status) {
    return node.path("status").asString("").equals(status);
  }

  private static boolean isMember(JsonNode node) {
    return is(node, "ALIVE") || is(node, "DRAINING");
  }

  private static String text(JsonNode object, String field) {
    JsonNode value = object.path(field);
    return value.isValueNode() && !value.isNull() ? Text.visible(value.asString("")) : NONE;
  }

  private String age(JsonNode object, String field) {
    Instant then = instant(object, field);
    Instant now = instant(cluster, "at");
    return then == null || now == null ? NONE : Amounts.age(seconds(Duration.between(then, now)));
  }

  private static String took(JsonNode object, String field) {
    Duration duration = duration(object, field);
    return duration == null ? NONE : Amounts.seconds(seconds(duration));
  }

  private static double seconds(Duration duration) {
    return duration.toNanos() / 1e9;
  }

  private static @Nullable Instant instant(JsonNode object, String field) {
    try {
      return Instant.parse(object.path(field).asString(""));
    } catch (DateTimeException _) {
      return null;
    }
  }

  private static @Nullable Duration duration(JsonNode object, String field) {
    try {
      return Duration.parse(object.path(field).asString(""));
    } catch (DateTimeException _) {
      return null;
    }
  }
}
