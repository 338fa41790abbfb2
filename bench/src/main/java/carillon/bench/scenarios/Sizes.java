package carillon.bench.scenarios;

import java.time.Duration;

/**
 * The sizes of the scenarios.
 *
 * @param warmUp tasks drained before the measurement, so that the JIT has compiled the code
 * @param httpWarmUp warm-up tasks of http, which has more code to compile
 * @param enqueueWarmUp duration of the warm-up of enqueue
 * @param drain tasks of drain, growth, snapshot, lanes and disk
 * @param future tasks of growth that are due in the next weeks
 * @param bulk tasks created in bulk
 * @param http tasks delivered over HTTP in a round
 * @param nowWarmUp warm-up tasks of now, which are created one by one
 * @param now tasks of now in a round
 * @param pull tasks claimed by workers
 * @param burst tasks due at one instant
 * @param bigBurst tasks of burst-500k
 * @param dashboard tasks in the database while the dashboard is measured
 * @param watching duration of each measurement of streams
 * @param window over which the tasks of lateness are spread
 * @param enqueuing duration of enqueue
 * @param rounds of drain, lanes, http and now, fewer if they take long
 * @param pairs of growth and snapshot: one round without and one with the disturbance
 * @param timeout after which a scenario stops and reports what has finished
 */
public record Sizes(
    int warmUp,
    int httpWarmUp,
    Duration enqueueWarmUp,
    int drain,
    int future,
    int bulk,
    int http,
    int nowWarmUp,
    int now,
    int pull,
    int burst,
    int bigBurst,
    int dashboard,
    Duration watching,
    Duration window,
    Duration enqueuing,
    int rounds,
    int pairs,
    Duration timeout) {

  public static final Sizes QUICK =
      new Sizes(
          20_000,
          10_000,
          Duration.ofSeconds(3),
          60_000,
          200_000,
          200_000,
          20_000,
          10_000,
          20_000,
          30_000,
          20_000,
          100_000,
          200_000,
          Duration.ofSeconds(10),
          Duration.ofSeconds(5),
          Duration.ofSeconds(5),
          1,
          1,
          Duration.ofMinutes(2));

  public static final Sizes FULL =
      new Sizes(
          300_000,
          300_000,
          Duration.ofSeconds(10),
          300_000,
          5_000_000,
          1_000_000,
          60_000,
          150_000,
          60_000,
          150_000,
          50_000,
          500_000,
          10_000_000,
          Duration.ofSeconds(60),
          Duration.ofSeconds(20),
          Duration.ofSeconds(10),
          3,
          3,
          Duration.ofMinutes(2));

  /** Describes the reductions of {@link #of}. */
  public static final String PEERS =
      """
      a drain has three rounds for Carillon, sql and graphile-worker, of which the median counts, and one for the others;
      growth and snapshot have three pairs of rounds for Carillon and one for the others; a drain has at most 300,000
      tasks for graphile-worker, 150,000 for pg-boss, 80,000 for BullMQ, 60,000 for db-scheduler, 12,000 for JobRunr and
      2,000 for Quartz, after a warm-up of 150,000, 40,000, 20,000, 40,000, 5,000 and 1,000; bulk has 300,000 for
      graphile-worker and pg-boss, 100,000 for BullMQ, 50,000 for JobRunr and 3,000 for Quartz; growth has 1,000,000 future
      tasks, lateness takes 10 s, and enqueue takes 5 s\
      """;

  private static final int FUTURE_OF_OTHERS = 1_000_000;
  private static final Duration TIMEOUT_OF_OTHERS = Duration.ofMinutes(1);

  /** Returns these sizes, reduced for a system that would take too long. */
  public Sizes of(String system) {
    return switch (system) {
      case "carillon", "raw" -> this;
      case "sql" -> atMost(warmUp, drain, bulk, rounds);
      case "graphile-worker" -> atMost(150_000, 300_000, 300_000, rounds);
      case "pg-boss" -> atMost(40_000, 150_000, 300_000, 1);
      case "bullmq" -> atMost(20_000, 80_000, 100_000, 1);
      case "db-scheduler" -> atMost(40_000, 60_000, 1_000_000, 1);
      case "jobrunr" -> atMost(5_000, 12_000, 50_000, 1);
      case "quartz" -> atMost(1_000, 2_000, 3_000, 1);
      case String cluster when cluster.startsWith("carillon-") -> this;
      default -> throw new IllegalArgumentException("unknown system: " + system);
    };
  }

  private Sizes atMost(int maxWarmUp, int maxDrain, int maxBulk, int maxRounds) {
    return new Sizes(
        Math.min(warmUp, maxWarmUp),
        httpWarmUp,
        enqueueWarmUp,
        Math.min(drain, maxDrain),
        Math.min(future, FUTURE_OF_OTHERS),
        Math.min(bulk, maxBulk),
        http,
        nowWarmUp,
        now,
        pull,
        burst,
        bigBurst,
        dashboard,
        watching,
        window.dividedBy(2),
        enqueuing.dividedBy(2),
        Math.min(rounds, maxRounds),
        1,
        TIMEOUT_OF_OTHERS);
  }
}
