package carillon.bench.scenarios;

import java.time.Duration;

/**
 * How much of everything.
 *
 * @param warmUp tasks drained before anything is measured, so that the JIT has seen the code
 * @param httpWarmUp tasks of the warm-up of http, where the JVM has more to compile
 * @param enqueueWarmUp how long tasks are handed in one by one before that is measured
 * @param drain tasks of drain, growth, snapshot and lanes
 * @param future tasks of the next weeks that growth drains next to
 * @param bulk tasks handed in in bulk
 * @param http tasks delivered over HTTP in a round
 * @param pull tasks claimed by workers
 * @param burst tasks due at one instant
 * @param bigBurst tasks of burst-500k
 * @param dashboard tasks that there are while pages are asked for
 * @param watching how long streams are measured at a time
 * @param window over which the tasks of lateness are spread
 * @param enqueuing how long tasks are handed in one by one
 * @param rounds of drain, lanes and http, unless they take long
 * @param pairs of a round without and one with what disturbs it, of growth and snapshot
 * @param patience after which a scenario ends with what has been reached
 */
public record Sizes(
    int warmUp,
    int httpWarmUp,
    Duration enqueueWarmUp,
    int drain,
    int future,
    int bulk,
    int http,
    int pull,
    int burst,
    int bigBurst,
    int dashboard,
    Duration watching,
    Duration window,
    Duration enqueuing,
    int rounds,
    int pairs,
    Duration patience) {

  public static final Sizes QUICK =
      new Sizes(
          20_000,
          10_000,
          Duration.ofSeconds(3),
          60_000,
          200_000,
          200_000,
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
          50_000,
          500_000,
          10_000_000,
          Duration.ofSeconds(60),
          Duration.ofSeconds(20),
          Duration.ofSeconds(10),
          3,
          3,
          Duration.ofMinutes(2));

  /** What {@link #of} makes of it, in words. */
  public static final String PEERS =
      """
      three rounds, of which the middle counts, for Carillon, sql and graphile-worker, one for the others; growth and
      snapshot once of all but Carillon; of a drain at most 300,000 of graphile-worker, 150,000 of pg-boss, 80,000 of
      BullMQ, 60,000 of db-scheduler, 12,000 of JobRunr and 2,000 of Quartz, after 150,000, 40,000, 20,000, 40,000, 5,000
      and 1,000 to warm up; in bulk 300,000 of graphile-worker and pg-boss, 100,000 of BullMQ, 50,000 of JobRunr and 3,000
      of Quartz; growth has 1,000,000 future tasks; lateness is over 10 s, and enqueue takes 5 s\
      """;

  private static final int FUTURE_OF_OTHERS = 1_000_000;
  private static final Duration PATIENCE_WITH_OTHERS = Duration.ofMinutes(1);

  /** The same, or less of it for a system that would take too long. */
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
      case String many when many.startsWith("carillon-") -> this;
      default -> throw new IllegalArgumentException("no such system: " + system);
    };
  }

  private Sizes atMost(int mostWarmUp, int mostDrain, int mostBulk, int mostRounds) {
    return new Sizes(
        Math.min(warmUp, mostWarmUp),
        httpWarmUp,
        enqueueWarmUp,
        Math.min(drain, mostDrain),
        Math.min(future, FUTURE_OF_OTHERS),
        Math.min(bulk, mostBulk),
        http,
        pull,
        burst,
        bigBurst,
        dashboard,
        watching,
        window.dividedBy(2),
        enqueuing.dividedBy(2),
        Math.min(rounds, mostRounds),
        1,
        PATIENCE_WITH_OTHERS);
  }
}
