package carillon.api.admin;

import carillon.api.http.Answer;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.Permission;
import carillon.api.json.Times;
import carillon.model.cluster.Vitals;
import carillon.store.cluster.ClusterReader;
import carillon.store.cluster.ClusterReader.Cluster;
import carillon.store.cluster.Leadership;
import carillon.store.cluster.Nodes;
import carillon.store.cluster.ShardRows;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Shows nodes, leader, shards and the database, for admins. */
public final class ClusterRoutes {

  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private final ClusterReader reader;
  private final DatabaseGate database;
  private final ObjectNode listener;

  /**
   * @param bind the address that this node listens on, without TLS
   */
  public ClusterRoutes(ClusterReader reader, DatabaseGate database, String bind) {
    this.reader = reader;
    this.database = database;
    this.listener =
        JSON.objectNode()
            .put("bind", bind)
            .put("tls", false)
            .put("beyondLoopback", !isLoopback(bind));
  }

  private static boolean isLoopback(String bind) {
    try {
      return InetAddress.getByName(bind).isLoopbackAddress();
    } catch (UnknownHostException _) {
      return false;
    }
  }

  public List<Endpoint> endpoints() {
    return List.of(Endpoint.get("/v1/cluster", Permission.CLUSTER, _ -> show()));
  }

  private Answer show() {
    Cluster cluster = database.use(reader::read);
    ObjectNode answer = JSON.objectNode().put("at", Times.format(cluster.at()));
    answer.set(
        "leader", cluster.leader().<JsonNode>map(ClusterRoutes::json).orElse(JSON.nullNode()));
    ArrayNode nodes = answer.putArray("nodes");
    cluster.nodes().stream()
        .sorted(
            Comparator.comparing(ClusterRoutes::isMember)
                .reversed()
                .thenComparing(Nodes.Shown::label)
                .thenComparing(Nodes.Shown::id))
        .forEach(node -> nodes.add(json(node)));
    answer.set("shards", json(cluster.shards()));
    answer.put("lag", lag(cluster).toString());
    answer.set("suspects", json(suspects(cluster)));
    answer.set("database", json(cluster.database()));
    answer.set("listener", listener);
    return Answer.json(200, answer);
  }

  private static ObjectNode json(Leadership.Led leader) {
    return JSON.objectNode()
        .put("node", leader.term().node())
        .put("term", leader.term().number())
        .put("since", Times.format(leader.since()))
        .put("leaseUntil", Times.format(leader.leaseUntil()));
  }

  private static ObjectNode json(Nodes.Shown node) {
    ObjectNode json = JSON.objectNode().put("id", node.id()).put("name", node.label());
    ArrayNode roles = json.putArray("roles");
    node.roles().forEach(roles::add);
    Vitals vitals = node.vitals();
    json.put("address", node.address())
        .put("version", node.version())
        .put("status", node.status().name())
        .put("startedAt", Times.format(node.times().startedAt()))
        .put("renewedAt", Times.formatOrNull(node.times().renewedAt()))
        .put("leaseUntil", Times.format(node.times().leaseUntil()))
        .put("clockOffset", text(node.clockOffset()))
        .put("inFlight", vitals.inFlight())
        .put("seats", vitals.seats())
        .put("lag", vitals.lag().toString());
    json.set("suspects", json(vitals.suspects()));
    ArrayNode shards = json.putArray("shards");
    node.shards().forEach(shards::add);
    return json.put("claimed", vitals.claimed()).put("ended", vitals.ended());
  }

  private static ObjectNode json(ShardRows.Spread shards) {
    return JSON.objectNode()
        .put("total", shards.total())
        .put("unassigned", shards.unassigned())
        .put("lastMovedAt", Times.formatOrNull(shards.lastMovedAt()));
  }

  /** The largest lag of all members. */
  private static Duration lag(Cluster cluster) {
    return cluster.nodes().stream()
        .filter(ClusterRoutes::isMember)
        .map(node -> node.vitals().lag())
        .max(Comparator.naturalOrder())
        .orElse(Duration.ZERO);
  }

  private static Vitals.Suspects suspects(Cluster cluster) {
    return cluster.nodes().stream()
        .filter(ClusterRoutes::isMember)
        .map(node -> node.vitals().suspects())
        .reduce(Vitals.Suspects.NONE, Vitals.Suspects::plus);
  }

  private static ObjectNode json(Vitals.Suspects suspects) {
    return JSON.objectNode().put("waiting", suspects.waiting()).put("running", suspects.running());
  }

  private static boolean isMember(Nodes.Shown node) {
    return switch (node.status()) {
      case ALIVE, DRAINING -> true;
      case SILENT, LEFT -> false;
    };
  }

  private static ObjectNode json(ClusterReader.Database database) {
    ObjectNode json =
        JSON.objectNode().put("version", database.version()).put("timeline", database.timeline());
    ArrayNode standbys = json.putArray("standbys");
    for (ClusterReader.Standby standby : database.standbys()) {
      standbys
          .addObject()
          .put("name", standby.name())
          .put("state", standby.state())
          .put("sync", standby.sync())
          .put("lag", text(standby.lag()));
    }
    return json.put("oldestTransaction", text(database.oldestTransaction()));
  }

  /** With the sign in front, as in ISO 8601; Java repeats it for every unit. */
  private static @Nullable String text(@Nullable Duration duration) {
    if (duration == null) {
      return null;
    }
    return duration.isNegative() ? "-" + duration.negated() : duration.toString();
  }
}
