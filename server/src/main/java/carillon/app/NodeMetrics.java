package carillon.app;

import carillon.engine.Engine;
import carillon.engine.upkeep.Upkeep;
import carillon.model.cluster.ClusterView;
import carillon.model.cluster.Vitals;
import carillon.model.task.FailureKind;
import carillon.store.EngineStore;
import carillon.store.Memory;
import carillon.store.Store;
import carillon.store.tasks.Counters;
import java.time.Duration;
import java.time.Instant;

/** The gauges of a node, and the vitals that its heartbeat reports. */
final class NodeMetrics {

  private NodeMetrics() {}

  static void register(Metrics metrics, Engine engine) {
    metrics.gauge("in.flight", "deliveries in flight on this node", engine::inFlight);
    metrics.gauge(
        "unwritten",
        "deliveries that have ended and whose outcome is not saved yet",
        engine::unsaved);
    metrics.gauge("seats", "maximum concurrent deliveries on this node", engine::seats);
    metrics.suspects(engine::suspects);
  }

  static void register(
      Metrics metrics,
      Memory memory,
      Store store,
      Membership membership,
      Upkeep upkeep,
      Pools pools) {
    membership.register(metrics);
    metrics.gauge(
        "planner.lag.seconds",
        "how late the most overdue schedule is planned",
        () -> seconds(upkeep.plannerLag()));
    metrics.gauge(
        "database.timeline",
        "timeline of the database; changes when a standby is promoted",
        () -> pools.timeline().number());
    metrics.gauge(
        "clock.offset.seconds",
        "the database's clock minus this node's clock",
        () -> seconds(memory.clock().offset()));
    Counters counters = memory.counters();
    metrics.outcomes(counters);
    metrics.count(
        "poisoned",
        "tasks dead because they crashed too many nodes",
        () -> counters.count(FailureKind.POISON));
    metrics.count("callbacks", "callback tasks created by this node", counters::callbacks);
    metrics.count("alerts", "alerts raised by this node", counters::alerts);
    metrics.count("created.tasks", "tasks created by this node", counters::created);
    new BacklogGauge(store.backlog(), memory.clock()).register(metrics);
  }

  static Vitals vitals(Metrics metrics, Engine engine, EngineStore store, ClusterView view) {
    Engine.SuspectCount suspects = engine.suspects();
    return new Vitals(
        engine.inFlight(),
        engine.seats(),
        lag(store, view, suspects),
        metrics.claimed(),
        metrics.ended(),
        new Vitals.Suspects(suspects.waiting(), suspects.running()));
  }

  /** How long the first due task of the node's own lanes has waited. */
  private static Duration lag(EngineStore store, ClusterView view, Engine.SuspectCount suspects) {
    Instant first =
        store.agenda().earliest(lane -> view.isOurs(lane) && store.catalog().isPushedNow(lane));
    if (first == null || first.equals(Instant.EPOCH)) { // EPOCH: read the lane from its head
      first = suspects.oldest();
    } else if (suspects.oldest() != null && suspects.oldest().isBefore(first)) {
      first = suspects.oldest(); // claimed, and waiting for its group
    }
    if (first == null) {
      return Duration.ZERO;
    }
    Duration waited = Duration.between(first, store.clock().instant());
    return waited.isNegative() ? Duration.ZERO : waited;
  }

  private static double seconds(Duration duration) {
    return duration.toNanos() / 1e9;
  }
}
