package carillon.app;

import carillon.engine.Engine;
import carillon.engine.EngineEvent;
import carillon.model.schedule.SkipReason;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import carillon.model.task.FailureKind;
import carillon.model.task.Lateness;
import carillon.store.db.Db;
import carillon.store.tasks.Counters;
import carillon.store.tasks.Counters.ClaimEnd;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Timer;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;

/** The meters of {@code /metrics}; counts the events of the engine. */
final class Metrics implements Consumer<EngineEvent> {

  private static final String OUTCOMES = "claims by how they ended, and tasks that expired";

  private static final List<String> RESULTS =
      List.of("accepted", "failed", "refused", "gone", "unreached", "interrupted");

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final Counter claimed = counter("claimer.claimed", "tasks claimed by this node");
  private final Counter immediateStarts =
      counter(
          "claimer.immediate.starts",
          "tasks that this node claimed in the transaction that created them");
  private final Counter fenced =
      counter("completer.fenced", "outcomes dropped because the lease was lost");
  private final LongAdder ended = new LongAdder();
  private final Counter reaped = counter("reaper.reaped", "tasks reclaimed from lost holders");
  private final Counter suspected =
      counter(
          "suspected.tasks", "tasks reclaimed from crashed nodes, to be retried in small groups");
  private final Counter expired =
      Counter.builder("carillon.outcomes")
          .description(OUTCOMES)
          .tag("outcome", "expired")
          .register(registry);
  private final Counter backfilled =
      counter("backfilled.tasks", "tasks created by backfills on this node");
  private final Counter archived = counter("archived.tasks", "dead letters moved to the archive");
  private final Counter archiveFailures =
      counter("archive.failures", "archive files that could not be written");
  private final Counter fired = counter("fires", "scheduled tasks created by this node");
  private final Counter firesMissed =
      counter("fires.missed", "scheduled times that were planned more than 60 s late");
  private final Map<String, Counter> deliveries = new HashMap<>();

  /** The registry refers to these weakly, and a counter without its source no longer counts. */
  private final List<DoubleSupplier> counted = new ArrayList<>();

  private final List<Db> leaderDbs = new CopyOnWriteArrayList<>();

  private final Timer delivery =
      Timer.builder("carillon.delivery").description("duration of attempts").register(registry);
  private final Timer lateness =
      Timer.builder("carillon.lateness")
          .description("start delay: from the time a task was ready to its claim")
          .serviceLevelObjectives(Lateness.BOUNDS.toArray(Duration[]::new))
          .register(registry);

  Metrics() {
    for (String result : RESULTS) {
      deliveries.put(
          result,
          Counter.builder("carillon.deliveries")
              .description("attempts by result")
              .tag("result", result)
              .register(registry));
    }
    for (SkipReason reason : SkipReason.values()) {
      skipped(reason).increment(0); // so that it is exported from the start
    }
  }

  private Counter skipped(SkipReason reason) {
    return Counter.builder("carillon.fires.skipped")
        .description("scheduled times that this node skipped, by reason")
        .tag("reason", reason.label())
        .register(registry);
  }

  PrometheusMeterRegistry registry() {
    return registry;
  }

  private Counter counter(String name, String description) {
    return Counter.builder("carillon." + name).description(description).register(registry);
  }

  void gauge(String name, String description, DoubleSupplier value) {
    Gauge.builder("carillon." + name, value::getAsDouble)
        .description(description)
        .register(registry);
  }

  /** Tasks that may have crashed a node. */
  void suspects(Supplier<Engine.SuspectCount> suspects) {
    suspects("waiting", () -> suspects.get().waiting());
    suspects("running", () -> suspects.get().running());
  }

  private void suspects(String state, DoubleSupplier value) {
    Gauge.builder("carillon.suspects", value::getAsDouble)
        .description("tasks of crashed nodes that are retried in small groups")
        .tag("state", state)
        .register(registry);
  }

  /** A counter whose value is maintained elsewhere. */
  void count(String name, String description, DoubleSupplier value) {
    counted.add(value);
    FunctionCounter.builder("carillon." + name, value, DoubleSupplier::getAsDouble)
        .description(description)
        .register(registry);
  }

  /**
   * How claims ended and why attempts failed, whether saved by this node's engine, a worker's
   * report or the reaper.
   */
  void outcomes(Counters counters) {
    for (ClaimEnd end : ClaimEnd.values()) {
      DoubleSupplier count = () -> counters.count(end);
      counted.add(count);
      FunctionCounter.builder("carillon.outcomes", count, DoubleSupplier::getAsDouble)
          .description(OUTCOMES)
          .tag("outcome", end.name().toLowerCase(Locale.ROOT))
          .register(registry);
    }
    for (FailureKind kind : FailureKind.values()) {
      DoubleSupplier count = () -> counters.count(kind);
      counted.add(count);
      FunctionCounter.builder("carillon.attempts.failed", count, DoubleSupplier::getAsDouble)
          .description("failed attempts by kind of failure")
          .tag("failure", kind.label())
          .tag("cause", kind.cause().name().toLowerCase(Locale.ROOT))
          .register(registry);
    }
  }

  /** Tasks claimed by this node. */
  long claimed() {
    return (long) claimed.count();
  }

  /** Tasks of this node whose outcome is saved. */
  long ended() {
    return ended.sum();
  }

  /** Transactions of the leader's loops that a stale term prevented, over all their pools. */
  void staleTerms(Db leaderDb) {
    if (leaderDbs.isEmpty()) {
      count(
          "stale.terms",
          "leader transactions of this node rejected because its term had ended",
          () -> leaderDbs.stream().mapToLong(Db::staleTerms).sum());
    }
    leaderDbs.add(leaderDb);
  }

  void pool(String name, Db db) {
    poolGauge("pool.active", name, "connections in use", () -> db.stats().active());
    poolGauge("pool.idle", name, "idle connections", () -> db.stats().idle());
    poolGauge("pool.pending", name, "callers waiting for a connection", () -> db.stats().pending());
  }

  private void poolGauge(String name, String pool, String description, DoubleSupplier value) {
    Gauge.builder("carillon." + name, value::getAsDouble)
        .description(description)
        .tag("pool", pool)
        .register(registry);
  }

  void passFailed(String loop) {
    accept(new EngineEvent.PassFailed(loop));
  }

  @Override
  public void accept(EngineEvent event) {
    switch (event) {
      case EngineEvent.Claimed(var tasks) -> {
        claimed.increment(tasks.size());
        tasks.forEach(this::late);
      }
      case EngineEvent.StartedImmediately(int tasks) -> immediateStarts.increment(tasks);
      case EngineEvent.Delivered(var result, var took) -> delivered(name(result), took);
      case EngineEvent.Ended(int written, int lost) -> {
        ended.add(written);
        fenced.increment(lost);
      }
      case EngineEvent.Reaped(int tasks, int suspects) -> {
        reaped.increment(tasks);
        suspected.increment(suspects);
      }
      case EngineEvent.Expired(int tasks) -> expired.increment(tasks);
      case EngineEvent.Backfilled(int tasks) -> backfilled.increment(tasks);
      case EngineEvent.Archived(int tasks) -> archived.increment(tasks);
      case EngineEvent.ArchiveFailed() -> archiveFailures.increment();
      case EngineEvent.Fired(int tasks, var skipped) -> {
        fired.increment(tasks);
        skipped.forEach((reason, times) -> skipped(reason).increment(times));
      }
      case EngineEvent.FireMissed(_, _, int times) -> firesMissed.increment(times);
      case EngineEvent.PassFailed(var loop) ->
          Counter.builder("carillon.loop.failures")
              .description("failed passes by loop")
              .tag("loop", loop)
              .register(registry)
              .increment();
    }
  }

  private void delivered(String result, Duration took) {
    Counter deliveries = this.deliveries.get(result);
    if (deliveries != null) {
      deliveries.increment();
    }
    delivery.record(took);
  }

  private void late(ClaimedTask task) {
    lateness.record(Duration.between(task.readyAt(), task.claimedAt()));
  }

  private static String name(DeliveryResult result) {
    return switch (result) {
      case DeliveryResult.Accepted _ -> "accepted";
      case DeliveryResult.Failed _ -> "failed";
      case DeliveryResult.Refused _ -> "refused";
      case DeliveryResult.Gone _ -> "gone";
      case DeliveryResult.Unreached _ -> "unreached";
      case DeliveryResult.Interrupted _ -> "interrupted";
    };
  }
}
